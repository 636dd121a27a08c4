"""Values go to JSON and come back the same, or are refused; digests follow the value."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Literal

import pytest

from sandbox_gym.codec import LONG, CodecError, decode, digest, encode
from sandbox_gym.contract import (
    Answer,
    CheckedOutcome,
    DialogueOutcome,
    GroupResult,
    Isolation,
    Outcome,
    PassOutcome,
    Plan,
    Program,
    Run,
    State,
    Status,
    StepOutcome,
    TestResult,
    TestStatus,
    Verdict,
)
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

AWKWARD = ["", "plain", "é\0\n", "\ud800 lone", "\U0001f600", '"}]{', "nan"]
NUMBERS = [0.0, -0.0, 0.1, 1e-308, 1e308, math.inf, -math.inf, 3.0]


def some_outcome(chance: random.Random) -> Outcome:
    return Outcome(
        status=chance.choice(list(Status)),
        exit_code=chance.choice([None, 0, 255]),
        signal=chance.choice([None, 9]),
        stdout=chance.randbytes(chance.randrange(200)),
        stderr=chance.choice([b"", b"\xff\xfe", "é".encode(), b"\0" * 50]),
        channel=chance.randbytes(5),
        cpu_time_s=chance.choice(NUMBERS),
        starved_s=chance.choice([None, *NUMBERS]),
        peak_memory_bytes=chance.randrange(1 << 60),
        detail=chance.choice(AWKWARD),
        tamper=tuple(chance.choices(AWKWARD, k=chance.randrange(3))),
    )


def some_step(chance: random.Random) -> StepOutcome | None:
    kind = chance.randrange(5)
    if kind == 0:
        return None
    if kind == 1:
        sides: list[Literal["", "asker", "candidate"]] = ["", "asker", "candidate"]
        return DialogueOutcome(some_outcome(chance), some_outcome(chance), chance.choice(sides))
    if kind == 2:
        earlier = tuple(PassOutcome(some_outcome(chance), some_outcome(chance)) for _ in range(chance.randrange(3)))
        return CheckedOutcome(some_outcome(chance), chance.choice([None, some_outcome(chance)]), earlier)
    return some_outcome(chance)


@pytest.mark.parametrize("seed", range(50))
def test_states_come_back_the_same(seed: int) -> None:
    chance = random.Random(seed)
    steps = tuple(some_step(chance) for _ in range(chance.randrange(6)))
    isolations: list[Isolation] = ["namespace", "container", "gvisor", "vm", "none"]
    builds = tuple(some_outcome(chance) for _ in range(chance.randrange(3)))
    state = State(steps, chance.choice(isolations), chance.choice(AWKWARD), builds)
    raw = encode(state)
    assert raw.isascii()
    assert decode(State, raw) == state


@pytest.mark.parametrize("seed", range(20))
def test_verdicts_come_back_the_same(seed: int) -> None:
    chance = random.Random(seed)
    results = tuple(TestResult(i, chance.choice(list(TestStatus)), chance.choice(AWKWARD)) for i in range(4))
    timings = {name: chance.choice(NUMBERS) for name in ("acquire", "run", "é")}
    verdict = Verdict(
        chance.random(),
        results,
        "wrong_answer",
        tamper=("a",),
        evidence={"a": chance.choice(AWKWARD)},
        groups=(GroupResult("easy", 30.0, chance.choice([30.0, 70.5])),),
        attempts=3,
        timings_s=timings,
    )
    back = decode(Verdict, encode(verdict))
    assert back == verdict
    assert all(type(test.status) is TestStatus for test in back.tests)


def test_limits_come_back_and_refuse_what_limits_refuse() -> None:
    limits = Limits(cpu_time_s=0.5, processes=3)
    raw = encode(limits)
    assert decode(Limits, raw) == limits
    with pytest.raises(CodecError, match="greater than zero"):
        decode(Limits, raw.replace(b'"processes":3', b'"processes":0'))


@pytest.mark.parametrize("data", [b"x" * (3 * LONG), "é😀".encode() * LONG, b"\xff" * (2 * LONG + 1), b"\0" * LONG])
def test_long_outputs_travel_in_pieces(data: bytes) -> None:
    """No text of the JSON is longer than a piece's, so that none takes long to make."""
    outcome = Outcome(Status.OK, stdout=data, channel=b"short")
    raw = encode(outcome, long=True)
    assert raw == encode(outcome)
    assert decode(Outcome, raw) == outcome
    form = json.loads(raw)
    pieces = next(iter(form["stdout"].values()))
    assert max(map(len, pieces if isinstance(pieces, list) else [pieces])) <= 2 * LONG
    assert form["channel"] == {"utf8": "short"}


def test_nan_survives() -> None:
    assert math.isnan(decode(Outcome, encode(Outcome(Status.OK, cpu_time_s=math.nan))).cpu_time_s)


def test_what_a_later_version_left_out_gets_its_default() -> None:
    assert decode(Outcome, b'{"status":"ok"}') == Outcome(Status.OK)


@pytest.mark.parametrize(
    "change",
    [
        {"status": "fine"},
        {"status": None},
        {"exit_code": "0"},
        {"exit_code": True},
        {"stdout": "text"},
        {"stdout": {"b64": "***"}},
        {"stdout": {"utf8": "a", "b64": "YQ=="}},
        {"stdout": {"utf8": 7}},
        {"stdout": {"utf8": ["a", 7]}},
        {"stdout": {"b64": ["YQ==", "*"]}},
        {"stdout": {"utf8": "\ud800"}},
        {"stdout": {}},
        {"cpu_time_s": "1"},
        {"tamper": "x"},
        {"tamper": [1]},
        {"__class__": "os.system"},
    ],
)
def test_what_is_not_exactly_an_outcome_is_refused(change: dict[str, object]) -> None:
    form = {**json.loads(encode(Outcome(Status.OK))), **change}
    with pytest.raises(CodecError):
        decode(Outcome, json.dumps(form).encode())


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'{"outcomes":[]}', b"[" * 100_000, b"\xff"])
def test_what_is_no_state_is_refused(raw: bytes) -> None:
    with pytest.raises(CodecError):
        decode(State, raw)
    with pytest.raises(CodecError):
        decode(State, b'{"outcomes":[{"asker":{"status":"ok"},"stdout":{"utf8":""}}],"isolation":"none","provider":""}')


def test_a_digest_follows_every_part_of_a_plan() -> None:
    program = Program("fork", {"main.py": b"x", "data": b"y"})
    plan = Plan((Run("a", program), Run("b", program, b"in")))
    reordered = replace(program, files={"data": b"y", "main.py": b"x"})
    assert digest(plan) == digest(Plan((Run("a", reordered), Run("b", reordered, b"in"))))
    others = [
        replace(plan, steps=plan.steps[::-1]),
        replace(plan, early_stop=True),
        replace(plan, steps=(Run("a", program), Run("b", program, b"in", Limits(cpu_time_s=9)))),
        Plan((Run("a", replace(program, files={"main.py": b"xy", "data": b""})), Run("b", program, b"in"))),
    ]
    assert len({digest(plan), *map(digest, others)}) == 5
    assert digest(("ab", "c")) != digest(("a", "bc"))
    assert digest(b"a") != digest("a")


def test_a_real_plan_has_the_same_digest_each_time() -> None:
    row = {"unit_tests": {"inputs": ["1", "2"], "outputs": ["1", "2"]}}
    plans = [
        CodingVerifier().plan(parse_task(row, limits=Limits(), early_stop=True), Answer("print(input())"))
        for _ in range(2)
    ]
    assert digest(plans[0]) == digest(plans[1])
