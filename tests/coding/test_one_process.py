"""Which tier a function test takes: by the row's text, by its own solution, by what an answer gave; and who may."""

from __future__ import annotations

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.task import InProcess
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

HIDDEN = {
    "entry_point": "shout",
    "prompt": "def shout(text):\n",
    "test": (
        "import builtins\n\ndef check(candidate):\n    heard = []\n    loud = lambda text: heard.append(text)\n"
        "    setattr(builtins, 'print', loud)\n    candidate('a')\n    assert heard == ['A']\n"
    ),
}
"""Nothing in this test's text is known to belong to one process but the import."""
SHOUT = "def shout(text):\n    print(text.upper())"

ALIAS = {
    "entry_point": "shout",
    "prompt": "import sys\nSTREAM = sys\n\ndef shout(text):\n",
    "test": (
        "import io\n\ndef check(candidate):\n    stream = STREAM\n"
        "    kept, stream.stdout = stream.stdout, io.StringIO()\n"
        "    candidate('a')\n    said, stream.stdout = stream.stdout.getvalue(), kept\n    assert said == 'A\\n'\n"
    ),
}
"""A capture of output that the text hides: only the row's own solution shows it."""


async def judged(engine: Engine, row: dict[str, object], code: str, policy: InProcess) -> Verdict:
    task = parse_task(row, limits=Settings().limits(), early_stop=True, in_process=policy)
    return (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{code}\n```"))).verdict


async def test_the_text_decides_and_says_why(judge: Judge) -> None:
    right = await judge(SHOUT, HIDDEN)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert right.integrity_reason == "row: the test imports builtins, whose state or objects belong to one process"
    assert (await judge("def shout(text):\n    print(text)", HIDDEN)).reward == 0.0


async def test_the_rows_own_solution_decides_where_the_text_does_not(judge: Judge) -> None:
    assert (await judge(SHOUT, ALIAS)).reward == 0.0, "without a solution nobody knows"
    row = {**ALIAS, "canonical_solution": "    print(text.upper())\n"}
    right = await judge(SHOUT, row)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert right.integrity_reason.startswith("row: its own solution passes in one process only")
    wrong = await judge("def shout(text):\n    print(text)", row)
    assert (wrong.reward, wrong.integrity, wrong.failure_reason) == (0.0, "in_process", "wrong_answer")


async def test_a_row_whose_solution_passes_apart_stays_apart(judge: Judge) -> None:
    row = {
        "entry_point": "double",
        "prompt": "def double(x):\n",
        "canonical_solution": "    return 2 * x\n",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    }
    assert (await judge("def double(x):\n    return x + x", row)).integrity == "isolated"
    hostile = "import os\ndef double(x):\n    os._exit(0)"
    for wrong in ("def double(x):\n    return 3", hostile):
        verdict = await judge(wrong, row)
        assert (verdict.reward, verdict.integrity, verdict.integrity_reason) == (0.0, "isolated", "")


async def test_a_solution_that_fails_or_never_ends_changes_nothing(judge: Judge) -> None:
    row = {"entry_point": "f", "prompt": "def f(x):\n", "test": "def check(candidate):\n    assert candidate(2) == 4\n"}
    for solution in ("    return 5\n", "    import os; os._exit(1)\n", "    while True: pass\n"):
        given = {**row, "canonical_solution": solution, "time_limit_s": 0.5}
        right = await judge("def f(x):\n    return 4", given)
        assert (right.reward, right.integrity) == (1.0, "isolated"), solution
        assert (await judge("def f(x):\n    return 5", given)).reward == 0.0, solution


COMPARED = {
    "entry_point": "Point",
    "test": "def check(candidate):\n    assert candidate(1) == candidate(1)\n    assert candidate(1) != candidate(2)\n",
}
POINT = (
    "class Point:\n    def __init__(self, x):\n        self.x = x\n"
    "    def __eq__(self, other):\n        return self.x == other.x\n"
)


async def test_a_test_that_compares_objects_of_the_answers_class_needs_one_process(judge: Judge) -> None:
    right = await judge(POINT, COMPARED)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert right.integrity_reason == "row: the test compares objects of the answer's class Point"
    wrong = await judge(POINT.replace("==", "is not"), COMPARED)
    assert wrong.reward == 0.0


@pytest.mark.parametrize("row", [HIDDEN, COMPARED])
async def test_mask_and_deny(engine: Engine, row: dict[str, object]) -> None:
    code = POINT if row is COMPARED else SHOUT
    masked = await judged(engine, row, code, "mask")
    assert (masked.reward, masked.failure_reason) == (0.0, "in_process")
    assert masked.integrity_reason.startswith("row: ")
    if row is HIDDEN:
        with pytest.raises(RequestError, match=r"test.*builtins"):
            await judged(engine, row, code, "deny")
    else:
        assert (await judged(engine, row, code, "deny")).failure_reason == "in_process"


UNPROVEN = {
    "entry_point": "Stack",
    "test": (
        "def check(candidate):\n    stack = candidate()\n    stack.push(1)\n"
        "    for each in stack.each():\n        assert each == 1\n"
    ),
}
"""Nothing of this test is certain to be reached, and there is no solution: it has no variant that must fail."""
DERIVED = """
class Stack(list):
    def push(self, x): self.append(x)
    def each(self): return tuple(self)
"""


async def test_an_answers_class_that_derives_from_a_builtin_is_judged_in_one_process(judge: Judge) -> None:
    row = {"entry_point": "Stack", "test": UNPROVEN["test"] + "    assert stack == [1] and len(stack) == 1\n"}
    right = await judge(DERIVED, row)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert right.integrity_reason == "answer: an object of its class Stack is more than a value"
    assert right.inverted is not None
    assert right.inverted.variants
    wrong = await judge(DERIVED.replace("append(x)", "append(2)"), row)
    assert (wrong.reward, wrong.failure_reason) == (0.0, "wrong_answer")
    hostile = DERIVED + "    def __eq__(self, other): return True\n    def __iter__(self): return iter(())\n"
    assert (await judge(hostile, row)).reward == 0.0


async def test_what_only_the_answer_made_necessary_needs_a_variant_that_fails(judge: Judge) -> None:
    verdict = await judge(DERIVED, UNPROVEN)
    assert (verdict.reward, verdict.integrity) == (0.0, "isolated"), verdict.tests
    plain = DERIVED.replace("(list)", "").replace("self.append(x)", "self.x = x").replace("tuple(self)", "(self.x,)")
    assert (await judge(plain, UNPROVEN)).reward == 1.0


async def test_an_object_that_equals_a_value_is_compared_in_one_process(judge: Judge) -> None:
    source = (
        "class Bag:\n    def __init__(self, x):\n        self.x = x\n"
        "    def __eq__(self, other):\n        return self.x == other\n"
    )
    row = {"entry_point": "Bag", "test": "def check(candidate):\n    assert candidate([1]) == [1]\n"}
    right = await judge(source, row)
    assert (right.reward, right.integrity) == (1.0, "in_process"), right.tests
    assert right.integrity_reason == "answer: the test compares an object of the class Bag with a value"
    for wrong in ("self.x != other", "True"):
        assert (await judge(source.replace("self.x == other", wrong), row)).reward == 0.0
