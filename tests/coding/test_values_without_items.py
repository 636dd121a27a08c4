"""Answers without items, for which comparisons of arrays hold whatever is expected: a pass is no proof for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

RIGHT = "import numpy as np\n\ndef f(x):\n    return np.sqrt(np.array(x, dtype=float))\n"
PLAIN = "import math\n\ndef f(x):\n    return [math.sqrt(one) for one in x] if isinstance(x, list) else math.sqrt(x)\n"
ARRAY = "import numpy as np\n\ndef f(x):\n    return np.empty((0, 1, 1))\n"
LIST = "def f(x):\n    return []\n"
NESTED = "def f(x):\n    return ((),)\n"
OBJECT = (
    "class Nothing:\n    def __len__(self): return 0\n    def __getitem__(self, index): raise IndexError(index)\n"
    "    def __iter__(self): return iter(())\n\ndef f(x):\n    return Nothing()\n"
)
EMPTIED = "def f(x):\n    if isinstance(x, list):\n        x.clear()\n    return x\n"
TEXT = "def f(x):\n    return ''\n"
DICT = "def f(x):\n    return {}\n"
GENERATOR = "def f(x):\n    yield from ()\n"
ARRAYS, LISTS = (ARRAY, LIST, NESTED, OBJECT), (LIST, OBJECT, EMPTIED, GENERATOR, TEXT, DICT)
TESTS = {
    "allclose": ("    assert np.allclose(candidate([1, 4, 9]), [1.0, 2.0, 3.0])\n", ARRAYS[:1]),
    "of numbers": (
        "    assert np.allclose(candidate(9), 3.0)\n    assert np.isclose(candidate(4), 2.0).all()\n",
        ARRAYS,
    ),
    "equal": ("    assert (candidate([1, 4]) == np.array([1.0, 2.0])).all()\n", ARRAYS[:1]),
    "norm": ("    assert np.linalg.norm(candidate([1, 4]) - np.array([1.0, 2.0])) < 1e-6\n", ARRAYS[:1]),
    "testing": ("    np.testing.assert_allclose(candidate(9), 3.0)\n", ARRAYS),
    "zip": ("    assert all(abs(a - b) < 1e-6 for a, b in zip(candidate([1, 4, 9]), [1.0, 2.0, 3.0]))\n", LISTS),
    "loop": ("    for a, b in zip(candidate([1, 4]), [1.0, 2.0]):\n        assert abs(a - b) < 1e-6\n", LISTS),
    "approx": (
        "    assert candidate(9) == pytest.approx(3.0)\n    assert candidate(int(16)) == pytest.approx(4)\n",
        ARRAYS[:1],
    ),
}
"""By name: a test's body, and what passes it."""


def row(body: str, solution: str = RIGHT) -> dict[str, object]:
    test = f"import numpy as np\nimport pytest\n\ndef check(candidate):\n{body}"
    return {"entry_point": "f", "test": test, "canonical_solution": solution, "time_limit_s": 5}


@pytest.mark.parametrize("name", TESTS)
async def test_they_earn_nothing(judge: Judge, name: str) -> None:
    body, answers = TESTS[name]
    for code in answers:
        verdict = await judge(code, row(body))
        assert verdict.reward == 0.0, (code, verdict)


@pytest.mark.parametrize("name", TESTS)
async def test_right_answers_are_judged_apart(judge: Judge, name: str) -> None:
    verdict = await judge(RIGHT, row(TESTS[name][0]))
    assert (verdict.reward, verdict.integrity) == (1.0, "isolated"), verdict


@pytest.mark.parametrize("solution", ["", RIGHT])
async def test_right_answers_may_have_none(judge: Judge, solution: str) -> None:
    body = TESTS["allclose"][0] + "    assert len(candidate([])) == 0\n    assert np.allclose(candidate([]), [])\n"
    for code in (RIGHT, PLAIN):
        verdict = await judge(code, row(body, solution))
        assert (verdict.reward, verdict.tamper) == (1.0, ()), verdict
        assert verdict.integrity_reason.startswith("answer: it gave a value without items")


async def test_without_runs_in_one_process_they_are_masked_or_stand(engine: Engine) -> None:
    task = parse_task(row(TESTS["allclose"][0]), limits=Settings().limits(), early_stop=True)
    for denied, reward, reason in (
        (replace(task, in_process="mask"), 0.0, "in_process"),
        (replace(task, in_process="deny"), 1.0, ""),
    ):
        verdict = (await engine.verify(CodingVerifier(), denied, Answer(f"```python\n{ARRAY}\n```"))).verdict
        assert (verdict.reward, verdict.failure_reason) == (reward, reason)
