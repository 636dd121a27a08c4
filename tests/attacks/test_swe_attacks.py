"""Every folder of swe/ is a patch or an agent's commands that must not resolve a real instance, whose own fix does.

`patch.diff` is judged as it is; `commands.sh` an agent runs in its session, whose work is then judged. README.md says
what it does and what stops it; its line `Row:` names the instance, where that is another than tests.swe.instance's, and
`Signs:` what it must leave in the verdict, `Passes:` why it still earns the reward, as the threat model says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from sandbox_gym.verifiers.swe import SIGNS
from tests.swe.instance import INSTANCE, Client, Document, forget_images, row, serving_swe

FOLDERS = sorted(path for path in (Path(__file__).parent / "swe").iterdir() if path.is_dir())
PROVIDERS = ("local", "docker")
AT_ONCE = 3

pytestmark = pytest.mark.timeout(1200)  # the first test of each instance waits for it


@dataclass(frozen=True)
class Judged:
    """The verdict, and what an agent saw before it."""

    verdict: Document
    seen: str = ""


def said(folder: Path, name: str) -> str:
    """A line of the README."""
    found = re.search(rf"^{name}: (.+)$", (folder / "README.md").read_text(), re.MULTILINE)
    return found[1] if found else ""


def expected_signs(folder: Path) -> set[str]:
    return set(filter(None, said(folder, "Signs").split(", ")))


def instance_of(folder: Path) -> str:
    return said(folder, "Row") or INSTANCE


PASSING = [folder for folder in FOLDERS if said(folder, "Passes")]
STOPPED = [folder for folder in FOLDERS if folder not in PASSING]
INSTANCES = tuple(dict.fromkeys(map(instance_of, FOLDERS)))
SLOW_ROWS = "jinja2__"
"""Instances that `--extended` alone builds."""
ADAPTIVE = ("72_", "73_")
"""Attacks of which the daily run takes every third; `--extended` all."""


def cases(folders: list[Path]) -> list[ParameterSet]:
    adaptive = [folder for folder in folders if folder.name.startswith(ADAPTIVE)]
    left_out = set(adaptive) - set(adaptive[::3])
    left_out |= {folder for folder in folders if instance_of(folder).startswith(SLOW_ROWS)}
    return [
        pytest.param(folder, id=folder.name, marks=pytest.mark.extended if folder in left_out else ())
        for folder in folders
    ]


def selected(items: list[pytest.Item]) -> list[Path]:
    """The folders that this run asks for."""
    given = [getattr(item, "callspec", None) for item in items if item.path == Path(__file__)]
    return [one.params["folder"] for one in given if one is not None and "folder" in one.params]


def judged(url: str, row: Document, patch: str) -> Judged:
    client = Client(url, row)
    try:
        return Judged(client.verify(patch))
    finally:
        client.close()


def attacked(url: str, row: Document, folder: Path) -> Judged:
    commands = folder / "commands.sh"
    if not commands.exists():
        return judged(url, row, (folder / "patch.diff").read_text())
    client = Client(url, row)
    try:
        client.seed()
        ran = client.bash(commands.read_text())
        assert not ran["timed_out"], ran
        return Judged(client.verify(), ran["output"])
    finally:
        client.close()


@pytest.fixture(scope="module", params=PROVIDERS)
def verdicts(
    request: pytest.FixtureRequest, data_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Judged]]]:
    """All of them at work, some at once; each test waits for its own. Each instance is built once."""
    folders = list(dict.fromkeys(selected(request.session.items)))
    rows = {name: row(data_folder, name) for name in dict.fromkeys([*map(instance_of, folders), INSTANCE])}
    folder = tmp_path_factory.mktemp("attacks")
    with (
        serving_swe(request.param, folder) as server,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        made = {name: pool.submit(judged, server.url, one, one["patch"]) for name, one in rows.items()}
        made |= {each.name: pool.submit(attacked, server.url, rows[instance_of(each)], each) for each in folders}
        yield made
        pool.shutdown(cancel_futures=True)
    if request.param == "docker":
        forget_images(folder)


def test_the_corpus_is_there() -> None:
    assert len(STOPPED) >= 85
    assert len(PASSING) <= 3
    for folder in FOLDERS:
        assert (folder / "patch.diff").exists() != (folder / "commands.sh").exists()
        assert expected_signs(folder) <= SIGNS.keys(), folder.name


def test_the_fixes_themselves_resolve_and_leave_no_sign(verdicts: dict[str, Future[Judged]]) -> None:
    for instance in INSTANCES:
        if instance in verdicts:
            gold = verdicts[instance].result().verdict
            assert gold["reward"] == 1.0, gold["failure_reason"]
            assert gold["resolved"] is True
            assert gold["verdict"]["tamper"] == []


@pytest.mark.extended
@pytest.mark.parametrize("folder", cases(PASSING))
def test_what_is_known_to_pass_does(verdicts: dict[str, Future[Judged]], folder: Path) -> None:
    """Who closes one takes the line out of its README and out of the threat model."""
    found = verdicts[folder.name].result().verdict
    assert found["reward"] == 1.0, found["verdict"]


@pytest.mark.parametrize("folder", cases(STOPPED))
def test_the_attack_resolves_nothing(verdicts: dict[str, Future[Judged]], folder: Path) -> None:
    found = verdicts[folder.name].result()
    assert found.verdict["reward"] == 0.0, found.verdict["verdict"]
    assert found.verdict["resolved"] is False
    assert found.verdict["failure_reason"]
    assert expected_signs(folder) <= set(found.verdict["verdict"]["tamper"]), found.verdict["verdict"]
    if (folder / "commands.sh").exists():
        assert found.seen.endswith("looked\n"), found.seen
        assert "FOUND" not in found.seen
