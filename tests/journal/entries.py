"""Entries for tests, made by the coding verifier from states that are told."""

from __future__ import annotations

import time
import uuid

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Judgement, Outcome, State, Status
from sandbox_gym.journal import Entry, Key, Source
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

ROW: dict[str, object] = {"unit_tests": {"inputs": ["1\n", "2\n"], "outputs": ["2\n", "4\n"]}}


def entry(
    stdout: bytes = b"2\n",
    *,
    key: Key | None = None,
    row: dict[str, object] | None = None,
    server: str = "coding",
    age_s: float = 0.0,
    answer: str = "print(2 * int(input()))",
) -> Entry:
    """A verify whose first test printed `stdout` and whose second is right."""
    row = row or ROW
    task = parse_task(row, limits=Settings().limits(), early_stop=False)
    verifier = CodingVerifier()
    plan = verifier.plan(task, Answer(answer))
    state = State((Outcome(Status.OK, 0, stdout=stdout), Outcome(Status.OK, 0, stdout=b"4\n")), "none", "fake")
    verdict = verifier.judge(task, Answer(answer), plan, state)
    finished = time.time() - age_s
    return Entry(
        request_id=uuid.uuid4().hex,
        server=server,
        provider="fake",
        source=Source("coding", {"early_stop": False}, row, answer, ("hm",)),
        judgements=(Judgement(plan, state, verdict),),
        started_at=finished - 0.5,
        finished_at=finished,
        reply={"reward": verdict.reward, "text": "\ud800\0é", "nan": float("nan"), "failure_reason": None},
        reward=verdict.reward,
        failure_reason=verdict.failure_reason,
        key=key,
    )


def no_verdict() -> Entry:
    """A verify whose sandbox was lost."""
    now = time.time()
    source = Source("coding", {}, ROW, "x")
    return Entry(uuid.uuid4().hex, "coding", "fake", source, (), now, now, failure_kind="coding:sandbox_lost")
