"""verl's own reward code, out of its wheel as it is, against our server by URL."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import httpx2 as httpx
import pytest

from tests.gym.serving import serving_as_documented

pytestmark = pytest.mark.timeout(300)
TESTS = {"inputs": ["2", "21", "0"], "outputs": ["4", "42", "0"]}


@pytest.fixture(scope="module")
def verl() -> ModuleType:
    """`verl.utils.reward_score.sandbox_fusion`, without what stands above it: that needs a GPU's libraries."""
    found = importlib.util.find_spec("verl")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "utils" / "reward_score" / "sandbox_fusion"
    spec = importlib.util.spec_from_file_location(
        "verls_sandbox_fusion", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving_as_documented(tmp_path_factory.mktemp("verl"), "from-sandboxfusion.md", {}) as port:
        yield f"http://127.0.0.1:{port}/run_code"


def scored(verl: ModuleType, url: str, code: str, tests: object = TESTS, timeout: int = 4) -> tuple[float, list[str]]:
    semaphore = threading.Semaphore(4)
    score, told = verl.compute_score(url, semaphore, 64, f"So:\n```python\n{code}\n```", tests, timeout=timeout)
    return score, [each["status"] for each in told]


@pytest.mark.parametrize(
    ("code", "score", "statuses"),
    [
        ("print(int(input()) * 2)", 1.0, ["success"] * 3),
        ("print(4)", 1 / 3, ["success", "wrong_answer", "wrong_answer"]),
        ("raise ValueError", 0.0, ["runtime_error"] * 3),
        ("while True: pass", 0.0, ["timeout"] * 3),
        ("x = bytearray(200 << 20)\nprint(int(input()) * 2)", 0.0, ["runtime_error"] * 3),
    ],
)
def test_scores(verl: ModuleType, url: str, code: str, score: float, statuses: list[str]) -> None:
    got, told = scored(verl, url, code)
    if "while" in code and "api_error" in told:
        said_why(url, code)
        told = ["timeout" if status == "api_error" else status for status in told]
    assert (round(got, 6), told) == (round(score, 6), statuses)


def said_why(url: str, code: str) -> None:
    """On a busy machine an endless program may get so little CPU that its run is no verdict, an error of verl's: the
    server says so, or this time it has the verdict."""
    wanted = {"code": code, "language": "python", "stdin": "2", "run_timeout": 4, "compile_timeout": 4}
    reply = httpx.post(url, json=wanted, timeout=120)
    said = reply.json()
    if reply.status_code == 504:
        assert "wanted CPU that others had" in said["message"] or "no verdict within" in said["message"]
    else:
        assert (reply.status_code, said["run_result"]["status"]) == (200, "TimeLimitExceeded")


def test_functions(verl: ModuleType, url: str) -> None:
    tests = {"inputs": ["[1, 2]\n3"], "outputs": ["[1, 2, 3]"], "fn_name": "append"}
    right, wrong = "def append(a, b):\n    return a + [b]", "def append(a, b):\n    return a"
    assert scored(verl, url, right, tests)[0] == 1.0
    assert scored(verl, url, wrong, tests)[0] == 0.0


def test_many_at_once(verl: ModuleType, url: str) -> None:
    tests = {"inputs": [str(n) for n in range(100)], "outputs": [str(2 * n) for n in range(100)]}
    score, statuses = scored(verl, url, "print(int(input()) * 2)", tests, timeout=10)
    assert (score, set(statuses)) == (1.0, {"success"})
