"""Results of builds, kept by content in memory: each is made once, however many ask for it at the same time.

Owns what is kept and for how long; knows neither sandboxes nor compilers.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

import anyio

from sandbox_gym.contract import Build, Outcome, Source, Status
from sandbox_gym.limits import MIB
from sandbox_gym.plans.starvation import doubt_of_compiler

KEPT_BYTES: Final = 256 * MIB
_OVERHEAD: Final = 1024


class Builds:
    """The least recently wanted go first when all are over `kept_bytes`."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._kept: OrderedDict[bytes, Outcome] = OrderedDict()
        self._bytes = 0
        self._in_work: dict[bytes, anyio.Event] = {}
        self.made = self.reused = 0

    async def outcome(self, key: bytes, make: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome kept under `key`, or what `make` gives. A caller that comes while it is made waits for
        it; if making it fails, the next caller makes it."""
        while key not in self._kept:
            others = self._in_work.get(key)
            if others is None:
                return await self._make(key, make)
            await others.wait()
        self._kept.move_to_end(key)
        self.reused += 1
        return self._kept[key]

    async def _make(self, key: bytes, make: Callable[[], Awaitable[Outcome]]) -> Outcome:
        done = self._in_work[key] = anyio.Event()
        try:
            outcome = await make()
            self.made += 1
            if repeatable(outcome):
                self._keep(key, outcome)
            return outcome
        finally:
            del self._in_work[key]
            done.set()

    def _keep(self, key: bytes, outcome: Outcome) -> None:
        self._kept[key] = outcome
        self._bytes += _size(outcome)
        while self._bytes > self._kept_bytes:
            _, gone = self._kept.popitem(last=False)
            self._bytes -= _size(gone)


def repeatable(outcome: Outcome) -> bool:
    """Whether the same build would end so again: not where the machine's load, a cap or a kill may have ended it."""
    failed = outcome.status is Status.RUNTIME_ERROR and outcome.exit_code is not None
    return outcome.status is Status.OK or (failed and doubt_of_compiler(outcome) is None)


def _size(outcome: Outcome) -> int:
    return len(outcome.stdout) + len(outcome.stderr) + len(outcome.channel) + _OVERHEAD


def build_key(build: Build, image: Source, provider: str) -> bytes:
    """Names a build by all that decides what it makes: the program, its input, its caps, and where it runs."""
    run, program = build.run, build.run.program
    head = (str(image), provider, program.mode, program.main, program.argv, sorted(program.env.items()))
    digest = hashlib.sha256(repr((head, program.entry_point, run.limits, sorted(program.files))).encode())
    for path in sorted(program.files):
        digest.update(hashlib.sha256(program.files[path]).digest())
    digest.update(hashlib.sha256(run.stdin).digest())
    return digest.digest()
