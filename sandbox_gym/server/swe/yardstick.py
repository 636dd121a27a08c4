"""How slow a session's machine is now: a piece of work whose CPU time is known, in a session that no agent has touched.

What an agent did not get done in time says something of it only where this piece had its CPU at the same time.
"""

from __future__ import annotations

import re
from typing import Final

from sandbox_gym.sandbox.session.client import Command, SessionClient

WITHIN_S: Final = 60.0
_WORK: Final = "TIMEFORMAT=%R\\ %U\\ %S; time for ((i = 0; i < 200000; i++)); do :; done"
"""Some tenths of a second of a CPU."""
_TIMES: Final = re.compile(rb"^(\d+)[.,](\d{3}) (\d+)[.,](\d{3}) (\d+)[.,](\d{3})$", re.MULTILINE)


async def slowness(client: SessionClient) -> float:
    """Wall time by CPU time, 1 where nobody else wants the CPU; infinite where it can't be told. Raises what
    `SessionClient.exec` raises."""
    ran = await client.exec(Command(("/bin/bash", "-p", "-c", _WORK), WITHIN_S))
    times = _TIMES.search(ran.stderr)
    if times is None or ran.timed_out:
        return float("inf")
    wall, user, system = (int(times[at]) + int(times[at + 1]) / 1000 for at in (1, 3, 5))
    return wall / (user + system) if user + system else float("inf")
