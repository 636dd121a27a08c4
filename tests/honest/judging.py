"""What sandbox_gym says of many answers, several at once, beside what plain CPython says of them."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

import anyio

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.daily import moved_on
from tests.honest.row import Case

Provider = Literal["local", "docker"]
AT_ONCE = 3
"""Verifies at once; each may take two boxes."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case and its verdict; `error` says why there is none."""

    case: Case
    verdict: Verdict | None
    error: str = ""

    @property
    def equal(self) -> bool:
        """Whether the reward is what plain CPython says."""
        return self.verdict is not None and self.verdict.reward == float(self.case.passes)

    @property
    def tier(self) -> str:
        """How the tests saw the answer, and why, where the verdict says so."""
        if self.verdict is None:
            return "no verdict"
        reason = getattr(self.verdict, "integrity_reason", "")
        return f"{self.verdict.integrity}: {reason}" if reason else self.verdict.integrity

    @property
    def why(self) -> str:
        """One line for who wonders about the verdict."""
        if self.verdict is None:
            return self.error
        reasons = [test.reason for test in self.verdict.tests if test.reason]
        return f"{self.verdict.failure_reason or 'passed'}: {reasons[0] if reasons else ''}".rstrip(": ")


@asynccontextmanager
async def opened(provider: Provider) -> AsyncIterator[Engine]:
    async with open_engine(Settings(provider=provider, boxes=2 * AT_ONCE)) as engine:
        yield engine


async def judge(engine: Engine, case: Case) -> Judged:
    """The verdict on one case; an error is no verdict. Tests that values may settle are run as they are written in
    half of the cases, other ones with each commit."""
    dialogue = (zlib.crc32(case.name.encode()) + moved_on()) % 2 == 1
    try:
        task = replace(
            parse_task(dict(case.row.fields), limits=Settings().limits(), early_stop=True), dialogue=dialogue
        )
        answer = Answer(f"````python\n{case.answer}\n````")
        return Judged(case, (await engine.verify(CodingVerifier(), task, answer)).verdict)
    except SandboxGymError as error:
        return Judged(case, None, f"{type(error).__name__}: {error}")


async def judge_all(engine: Engine, cases: Sequence[Case]) -> list[Judged]:
    """The verdicts in the order of the cases."""
    found: dict[int, Judged] = {}
    todo = iter(list(enumerate(cases)))

    async def work() -> None:
        for index, case in todo:
            found[index] = await judge(engine, case)

    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(work)
    return [found[index] for index in range(len(cases))]


def differing(judged: Iterable[Judged]) -> list[str]:
    """A line for each case whose verdict is not what plain CPython says."""
    return [f"{one.case.name} [{one.tier}] {one.why}" for one in judged if not one.equal]
