"""NeMo Gym's five example rows: our own solutions earn 1.0, and the same with one more line of output earn 0.0.

Two of the rows allow several answers and hold one; the solutions give that one. The third row earns nothing with any
program: some of its tests want an answer a line, others all answers in one line, and code_gen's rules tell them apart.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, TestStatus
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
SOLUTIONS = Path(__file__).parent / "code_gen_example"
SPOILT = "\nprint(0)\n"
CONTRADICTORY = 2


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_the_example_rows_get_what_they_deserve(provider: str, data_folder: Path) -> None:
    rows = [json.loads(line) for line in (data_folder / "nemo_gym_code_gen_example.jsonl").read_text().splitlines()]
    settings = Settings.model_validate({"provider": provider})
    rewards = {}
    async with open_engine(settings) as engine:
        for index, row in enumerate(rows):
            task = parse_task(row["verifier_metadata"], limits=settings.limits(), early_stop=False)
            source = (SOLUTIONS / f"{index}.py").read_text()
            for ending in ("", SPOILT):
                answer = Answer(f"Here it is.\n```python\n{source}{ending}```")
                verdict = (await engine.verify(CodingVerifier(), task, answer)).verdict
                assert len(verdict.tests) == len(row["verifier_metadata"]["unit_tests"]["inputs"])
                rewards[index, ending] = verdict.reward
                if (index, ending) == (CONTRADICTORY, ""):
                    failed = [test for test in verdict.tests if test.status is not TestStatus.PASSED]
                    assert len(failed) < len(verdict.tests)
                    assert all(test.reason.endswith("lines of output, expected 1") for test in failed)
    right = {(index, "") for index in range(5)} - {(CONTRADICTORY, "")}
    assert rewards == {key: float(key in right) for key in rewards}
