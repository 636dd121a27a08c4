"""GSM8K's golds in five surface forms are all right, and other numbers in the same forms are all wrong."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from sandbox_gym.verifiers.math import MathOptions, decide, extract_answer
from tests.math.gsm8k import FORMS, load, perturbed, written

OPTIONS = MathOptions(plain_answer=True)


def _verdict(gold: str, response: str) -> bool | None:
    answer = extract_answer(response, OPTIONS)
    assert answer is not None, response
    found = decide(gold, answer, OPTIONS)
    return found.equal if found else None


@pytest.mark.parametrize("form", FORMS)
def test_every_gold_equals_itself_however_written(data_folder: Path, form: str) -> None:
    problems = load(data_folder)
    assert len(problems) == 1319
    missed = [
        (problem.gold, written(problem.number, form, index))
        for index, problem in enumerate(problems)
        if _verdict(problem.gold, written(problem.number, form, index)) is not True
    ]
    assert not missed, missed[:10]


@pytest.mark.parametrize("form", FORMS)
def test_no_gold_equals_another_number(data_folder: Path, form: str) -> None:
    verdicts: Counter[bool | None] = Counter()
    for index, problem in enumerate(load(data_folder)):
        wrong = perturbed(problem.number, index)
        verdicts[_verdict(problem.gold, written(wrong, form, index))] += 1
    assert verdicts == {False: 1319}
