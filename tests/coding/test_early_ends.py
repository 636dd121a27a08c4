"""Answers that fail early on rows with long inputs: each has its verdict, and no sandbox is lost."""

from __future__ import annotations

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
LONG = "1234567 " * 131072
SLOW = """
import sys, time
words = sys.stdin.read()
time.sleep(0.3)
sys.exit(42 if words == open(sys.argv[2]).read() else 43)
"""
TESTS = 8


async def test_long_inputs_and_a_wrong_answer(engine: Engine, whole: bool) -> None:
    """While the checker reads one output the answer's program says the next, and its input is being sent."""
    count = 20 if whole else 8
    verdicts: list[Verdict] = []

    async def one(wrong: int) -> None:
        inputs = [f"{index} {LONG}\n" for index in range(TESTS)]
        outputs = [text if index != wrong else "another" for index, text in enumerate(inputs)]
        checker = {"type": "program", "source": SLOW}
        row = {"unit_tests": {"inputs": inputs, "outputs": outputs}, "language": "bash", "checker": checker}
        task = parse_task(row, limits=Settings().limits(), early_stop=True)
        verdict = (await engine.verify(CodingVerifier(), task, Answer("```bash\ncat\n```"))).verdict
        assert verdict.tests[wrong].status.value == "wrong_answer"
        verdicts.append(verdict)

    with anyio.fail_after(300):
        for index in range(count):
            await one(index % 3)
    assert [(each.reward, each.failure_reason, each.attempts) for each in verdicts] == [
        (0.0, "wrong_answer", 1)
    ] * count
