"""The runs behind a patch's verdict, on a runner that plays them: how many, in which order, what stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import pytest

from sandbox_gym.contract import Answer, Outcome, Plan, Run, State, Status, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import BoxLost, PoolFull
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.plans.runner import ANYONE, Caller, Passed, PlanResult, all_pass
from sandbox_gym.swe.judging import judge_patch
from sandbox_gym.verifiers.swe import CaseStatus, Reference, SweJob
from tests.swe.test_inverted import PATCH, job, reference

pytestmark = pytest.mark.anyio
F, P, D = "FAILED", "PASSED", "inverted_test_disturbed"
TESTS = [f"t.py::test_d{n}" for n in range(3)]


@dataclass
class Played:
    """A runner whose tests end as `ends` says of (run number, test, how it must end)."""

    ends: Callable[[int, str, str], str]
    refusals: int = 0
    loses: int = -1
    runs: list[str] = field(default_factory=list)
    provider_name: str = "played"

    async def run(self, plan: Plan, passed: Passed = all_pass, caller: Caller = ANYONE) -> PlanResult:
        if self.runs and self.refusals:
            self.refusals -= 1
            raise PoolFull("all wait", retry_after_s=0)
        number = len(self.runs)
        (step,) = plan.steps
        assert isinstance(step, Run)
        asked = json.loads(step.program.files[".verify/prepare.json"])
        inversion = next((line for line in asked["says"] if line["kind"] == "inversion"), None)
        self.runs.append("verdict" if inversion is None else "inverted")
        if number == self.loses:
            raise BoxLost("gone")
        must = {} if inversion is None else inversion["statuses"]
        tests = TESTS if inversion is None else [*must, *inversion["unchanged"]]
        done = {test: self.ends(number, test, must.get(test, CaseStatus.PASSED)) for test in tests}
        lines = [*asked["says"], {"kind": "begin"}]
        lines += [{"kind": "done", "id": test, "status": status} for test, status in done.items()]
        lines.append({"kind": "end", "complete": True, "rounds": 1})
        secret = asked["nonce"]
        channel = "".join(f"{secret} {json.dumps({**line, 'n': n})}\n" for n, line in enumerate(lines)).encode()
        return PlanResult(State((Outcome(Status.OK, 0, channel=channel),), "namespace", "local"))

    def stats(self) -> dict[str, int]:
        return {}

    def queues(self) -> dict[str, int]:
        return {}

    def nodes(self) -> dict[str, dict[str, str | int]]:
        return {}


def honest(_run: int, _test: str, must: str) -> str:
    return must


def asked(known: Reference | None = None) -> SweJob:
    return replace(job(TESTS, []), reference=known or reference(3))


async def verdict(played: Played, one: SweJob | None = None) -> Verdict:
    engine = Engine(played, Metrics(), random=Random(5))
    return (await judge_patch(engine, one or asked(), Answer(PATCH))).verdict


async def test_an_honest_patch_goes_through_its_inverted_runs() -> None:
    played = Played(honest)
    found = await verdict(played)
    assert (found.reward, found.tamper, played.runs) == (1.0, (), ["verdict", "inverted", "inverted"])
    assert found.inverted is not None
    assert (found.inverted.variants, found.inverted.failed, found.inverted.unchanged) == (3, 3, 3)


async def test_a_patch_that_fails_costs_one_run() -> None:
    played = Played(lambda _run, test, must: F if test == TESTS[1] else must)
    found = await verdict(played)
    assert (found.reward, played.runs, found.inverted) == (0.0, ["verdict"], None)


async def test_what_always_passes_survives_and_is_not_asked_again() -> None:
    played = Played(lambda _run, _test, _must: P)
    found = await verdict(played)
    assert (found.reward, found.tamper) == (0.0, ("inverted_test_survived",))
    assert len(played.runs) == 3


async def test_a_flake_is_asked_again_in_the_same_way() -> None:
    played = Played(lambda run, _test, must: F if run == 1 else must)
    found = await verdict(played)
    assert (found.reward, found.tamper, len(played.runs)) == (1.0, (), 4)


async def test_what_fails_in_inverted_runs_twice_earns_nothing() -> None:
    """As an answer does that tells them by their size and stops cheating there."""
    played = Played(lambda run, _test, must: F if run else must)
    found = await verdict(played)
    assert (found.reward, found.tamper, found.failure_reason) == (0.0, (D,), f"tampering: {D}")
    assert len(played.runs) == 5


async def test_a_full_queue_is_waited_for() -> None:
    played = Played(honest, refusals=5)
    assert (await verdict(played)).reward == 1.0


@pytest.mark.parametrize("run", [0, 1, 2])
async def test_a_lost_box_is_no_verdict(run: int) -> None:
    with pytest.raises(BoxLost):
        await verdict(Played(honest, loses=run))


async def test_a_row_without_variants_says_so() -> None:
    found = await verdict(Played(honest), asked(replace(reference(0), why_none="no assertion")))
    assert found.reward == 1.0
    assert found.inverted is not None
    assert (found.inverted.variants, found.inverted.why_none) == (0, "no assertion")
