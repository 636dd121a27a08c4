"""Our side of each trainer's wire, without the trainers: what a verdict, a lost one and a wrong row become.

`make test-train` runs the trainers' own packages over the same.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import anyio
import pytest

from sandbox_gym.client import NoVerdict, RequestRefused
from sandbox_gym.trainers import openrlhf, openrlhf_filtered, trl, verl
from sandbox_gym.trainers.scores import filled, rewards_of, row_of
from tests.trainers.rows import LOST, METADATA, RIGHT, WRONG

pytestmark = pytest.mark.usefixtures("server")
WRONG_ROW = {"unit_tests": {"inputs": ["2"], "outputs": []}}


def test_many_at_once() -> None:
    rows = [{"verifier_metadata": metadata} for metadata in (METADATA, METADATA, LOST)]
    assert rewards_of(rows, [RIGHT, WRONG, RIGHT]) == [1.0, 0.0, None]
    with pytest.raises(RequestRefused):
        rewards_of([{"verifier_metadata": WRONG_ROW}], [RIGHT])


GOLDS: tuple[tuple[object, str, str], ...] = (
    ("42", "42", "24"),
    (42, "42.0", "4.2"),
    (0.5, r"\frac{1}{2}", "5"),
    (r"\frac{1}{2}", "0.5", "2"),
    ("[1,2]", "[1,2]", "(1,2)"),
    ("(1,2)", "(1, 2)", "(2,1)"),
    ("x>2", r"(2,\infty)", "x<2"),
    ({"expected_answer": "7"}, "7", "8"),
)


def _boxed(value: str) -> str:
    return f"So it is $\\boxed{{{value}}}$."


def test_what_a_column_holds() -> None:
    assert row_of(METADATA) == row_of(json.dumps(METADATA)) == row_of({"verifier_metadata": METADATA})
    swe = {"FAIL_TO_PASS": ["a::b"], "patch": ""}
    assert row_of(json.dumps(swe)) == swe
    assert row_of("42") == row_of(42) == row_of('"42"') == row_of(json.dumps({"expected_answer": "42"}))
    assert row_of("[" * 100_000) == {"expected_answer": "[" * 100_000}
    assert row_of(None) == row_of(math.nan) == {"expected_answer": None}
    damaged = json.dumps(METADATA)[:-1]
    assert row_of(damaged) == {"verifier_metadata": damaged}
    for label in (damaged, math.nan):
        with pytest.raises(RequestRefused):
            rewards_of([row_of(label)], [RIGHT])


@pytest.mark.parametrize(("gold", "right", "wrong"), GOLDS)
def test_math_problems(gold: object, right: str, wrong: str) -> None:
    assert trl.rewards(["?"] * 2, [_boxed(right), _boxed(wrong)], expected_answer=[gold] * 2) == [1.0, 0.0]
    for scored in (_verl, _openrlhf):
        for label in {str(gold), json.dumps(gold)} if not isinstance(gold, dict) else {json.dumps(gold)}:
            assert scored(label, _boxed(right)) == 1.0
            assert scored(label, _boxed(wrong)) == 0.0


def test_coding_and_math_in_one_data_set() -> None:
    found = trl.rewards(
        ["a", "b", "c", "d"],
        [RIGHT, _boxed("42"), WRONG, _boxed("41")],
        verifier_metadata=[METADATA, None, json.dumps(METADATA), None],
        expected_answer=[None, "42", None, 42],
    )
    assert found == [1.0, 1.0, 0.0, 0.0]
    with pytest.raises(RequestRefused):
        trl.rewards(["a"], [_boxed("42")], expected_answer=[None])
    with pytest.raises(ValueError, match="argument"):
        trl.rewards(["a", "b"], [RIGHT, RIGHT], [METADATA])


def test_trl_gives_what_has_no_verdict_its_groups_mean() -> None:
    told: dict[str, float] = {}
    prompts = [[{"role": "user", "content": "Double."}]] * 4 + ["another"] * 2
    answers = [[{"role": "assistant", "content": RIGHT}], WRONG, RIGHT, RIGHT, RIGHT, RIGHT]
    found = trl.rewards(
        prompts, answers, [METADATA, METADATA, METADATA, LOST, LOST, LOST], told.__setitem__, trainer_state=None
    )
    assert found == [1.0, 0.0, 1.0, pytest.approx(2 / 3), 0.0, 0.0]
    assert told == {"no_verdict": 0.5}


def test_a_group_ends_where_its_prompt_does() -> None:
    assert filled(["a", "a", "b", "b", "a", "a"], [1.0, None, None, 0.5, 0.0, None]) == [1.0, 1.0, 0.5, 0.5, 0.0, 0.0]
    assert filled([], []) == []


def _label(metadata: object) -> str:
    return metadata if isinstance(metadata, str) else json.dumps(metadata)


def _verl(metadata: object, answer: str) -> object:
    async def scored() -> float:
        return await verl.compute_score("mine", answer, _label(metadata), {}, reward_router_address=None)

    return anyio.run(scored)


def _openrlhf(metadata: object, answer: str) -> object:
    prompt = "<|user|>Double.<|assistant|>"
    return openrlhf.reward_func([prompt + answer + "<|im_end|></s>"], [prompt], [_label(metadata)])["rewards"]


@pytest.mark.parametrize("scored", [_verl, _openrlhf])
def test_one_at_a_time(scored: Callable[[object, str], object]) -> None:
    assert scored(METADATA, RIGHT) == 1.0
    assert scored(METADATA, "print(2 * int(input()))") == 1.0
    assert scored(METADATA, WRONG) == 0.0
    with pytest.raises(NoVerdict):
        scored(LOST, RIGHT)
    with pytest.raises(RequestRefused):
        scored(WRONG_ROW, RIGHT)


def test_openrlhf_with_its_filter_gets_no_number() -> None:
    lost = openrlhf_filtered.reward_func([RIGHT], [""], [json.dumps(LOST)])
    assert math.isnan(float(str(lost["rewards"])))
    assert math.isnan(float(str(lost["scores"])))
    assert lost["extra_logs"] == {"no_verdict": 1.0}
    assert openrlhf_filtered.reward_func([WRONG], [""], [json.dumps(METADATA)])["scores"] == 0.0
