"""One program in a box."""

from __future__ import annotations

import dataclasses

from sandbox_gym.contract import Outcome, Program, Run
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.sandbox import Sandbox

LIMITS = Limits(
    cpu_time_s=3, wall_time_s=9, memory_bytes=128 * MIB, processes=16, stdout_bytes=1 * MIB, stderr_bytes=64 * 1024
)


async def run(
    box: Sandbox, source: str | bytes, stdin: bytes = b"", limits: Limits = LIMITS, **program: object
) -> Outcome:
    text = source if isinstance(source, bytes) else source.encode()
    made = dataclasses.replace(Program("fork", {"main.py": text}), **program)  # type: ignore[arg-type]
    async with box.run_all([Run("one", made, stdin, limits)]) as outcomes:
        return await anext(outcomes)
