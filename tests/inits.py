"""Which init a box's programs have had."""

from __future__ import annotations

from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.processes import below, text_of

BIRTH = (
    "(lambda path: open(path).read().rpartition(')')[2].split()[19] if os.path.exists(path) else 'hidden')"
    "('/proc/%d/stat' % os.getppid())"
)
"""An expression of a program, which imports os: when its init began, where it can see that."""


def init_of(box: Sandbox, seen: object) -> object:
    """What tells the init that is there now from others. `seen`: what its last program had for BIRTH."""
    if not isinstance(box.machine, LocalMachine):
        return seen
    numbers = {pid: _numbers(pid) for pid in below(box.machine.pid)}
    return max(numbers, key=lambda pid: len(numbers[pid]))  # its namespace is below the zygote's


def _numbers(pid: int) -> list[str]:
    """Of a process, in each PID namespace that sees it."""
    return text_of(pid, "status").partition("NSpid:")[2].split("\n")[0].split()
