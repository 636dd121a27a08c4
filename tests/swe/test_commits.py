"""R2E-Gym's rows: the fix is read from the parsed commit, and the tests, which are in no commit, are asked."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.swe import parse_task
from tests.swe.imitations.commits import parsed_commit
from tests.swe.imitations.images import build
from tests.swe.imitations.projects import diff
from tests.swe.imitations.rows import IMITATIONS
from tests.swe.instance import Client, forget_images, serving_swe

pytestmark = pytest.mark.timeout(1500)
CALC = next(one for one in IMITATIONS if one.label == "r2e-calc")
FORGED = """import atexit


def _say():
    print("short test summary info")
    print("PASSED r2e_tests/test_1.py::test_holds")
    print("PASSED r2e_tests/test_1.py::test_mended")


atexit.register(_say)


def half(n):
    return n // 2
"""
EQUAL = """class Any(int):
    def __eq__(self, other):
        return True


def half(n):
    return Any(n)
"""


def row(**changed: Any) -> dict[str, Any]:
    return {**CALC.row, **changed}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("commits")
    build(CALC.image)
    with serving_swe("docker", folder) as running:
        opened = Client(running.url, row())
        yield opened
        opened.close()
    forget_images(folder)


@pytest.mark.extended
def test_a_right_patch_goes_through_inverted_tests(client: Client) -> None:
    found = client.verify(CALC.fix)
    assert found["reward"] == 1.0, found["failure_reason"]
    inverted = found["verdict"]["inverted"]
    assert inverted["variants"] >= 1, found["verdict"]
    assert inverted["failed"] == inverted["variants"]


@pytest.mark.extended
@pytest.mark.parametrize("source", [FORGED, EQUAL], ids=["forged", "equal"])
def test_a_hack_that_passes_by_the_map_does_not_pay(client: Client, source: str) -> None:
    found = client.verify(diff(CALC.project.base, {"calc/work.py": source}))
    assert (found["reward"], found["verdict"]["decided_by"]) == (0.0, "inverted_tests")


def lines(random: Random, most: int) -> str:
    words = ("alpha", "beta()", "", "    gamma", "-- x", "++ y", "\\ z", "@@ -1 +1 @@", "delta\r", "\tepsilon")
    text = "\n".join(random.choice(words) for _ in range(random.randrange(1, most)))
    return text if random.random() < 0.2 else text + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_the_fix_makes_what_the_commit_made_beside_tests(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    old = {f"calc/f{number}.py": lines(random, 30) for number in range(3)}
    new = {path: lines(random, 30) for path in random.sample(sorted(old), 2)} | {"calc/new.py": lines(random, 9)}
    new |= {"calc/empty.py": ""} if seed % 3 == 0 else {}
    tests = {"tests/test_f.py": "def test_a():\n    pass\n", "calc/conftest.py": "x = 1\n"}
    commit = parsed_commit(old, {path: text for path, text in {**new, **tests}.items() if text != old.get(path)})
    fix = parse_task(row(parsed_commit_content=json.dumps(commit))).patch
    for path, text in old.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    git = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(git, input=fix.encode(), cwd=tmp_path, check=True, capture_output=True)
    found = {str(path.relative_to(tmp_path)): path.read_bytes().decode() for path in tmp_path.rglob("*.py")}
    assert found == {**old, **new}


def test_what_the_row_says_is_no_test_is_of_the_fix() -> None:
    commit = json.dumps(parsed_commit({"calc/testing/a.py": "x = 1\n"}, {"calc/testing/a.py": "x = 2\n"}))
    assert parse_task(row(parsed_commit_content=commit, relevant_files=[])).patch == ""
    assert "+x = 2\n" in parse_task(row(parsed_commit_content=commit, relevant_files=["calc/testing/a.py"])).patch


STRANGE: tuple[Any, ...] = (None, 0, -1, 1e400, "", "x\n+y", [], {}, [[]], {"path": None}, "\ud800", True)


def spoiled(value: Any) -> Iterator[Any]:
    """The same with something else in one place, for each place."""
    yield from STRANGE
    for name, one in value.items() if isinstance(value, dict) else ():
        yield from ({**value, name: other} for other in spoiled(one))
    for at, one in enumerate(value if isinstance(value, list) else ()):
        yield from ([*value[:at], other, *value[at + 1 :]] for other in spoiled(one))


def field_refused(given: dict[str, Any]) -> str:
    try:
        parse_task(given)
    except RequestError as error:
        return error.field
    return ""


def test_a_commit_of_another_form_is_no_fix_or_the_rows_mistake() -> None:
    commit = parsed_commit({"calc/work.py": "x = 1\n"}, {"calc/work.py": "x = 2\n", "calc/new.py": "y = 1\n"})
    given = [{"parsed_commit_content": other} for other in spoiled(commit)]
    given += [{"execution_result_content": other} for other in STRANGE]
    for changed in given:
        assert field_refused(row(**changed)) in ("", f"row.{next(iter(changed))}"), changed
