"""What works of an account at E2B, who enforces the caps of its sandboxes, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio

from sandbox_gym.errors import ConfigurationError, ProviderDown
from sandbox_gym.sandbox.api import Capability
from sandbox_gym.sandbox.caps import Cap, CapRow, guest_caps, in_order
from sandbox_gym.sandbox.e2b.account import Account
from sandbox_gym.sandbox.e2b.machine import E2bMachine

IMAGE = "python"
"""What is tried."""


class E2bDoctor:
    """See `api.Doctor`."""

    def __init__(self, account: Account, start: Callable[[str], Awaitable[E2bMachine]]) -> None:
        """`start`: makes a sandbox of an image that runs programs. Raises ConfigurationError, ProviderDown."""
        self._account, self._start = account, start

    async def check(self) -> None:
        """One sandbox, made and killed. Raises ConfigurationError for a key, template or argument that never will do,
        ProviderDown for what may pass."""
        await self._try()

    async def _try(self) -> E2bMachine:
        machine = await self._start(IMAGE)
        with anyio.CancelScope(shield=True):
            await machine.destroy()
        return machine

    async def probe(self) -> Sequence[Capability]:
        """Make a sandbox, ask how long it took, kill it."""
        options = self._account.options
        where = options.api_url or options.domain or "as E2B_* in the environment say, else e2b.app"
        rows = [Capability("e2b address", True, where)]
        started = time.monotonic()
        try:
            await self.check()
        except ConfigurationError as error:
            return [*rows, Capability("e2b account", False, str(error), "docs/guides/operator/e2b.md, Provider e2b")]
        except ProviderDown as error:
            return [*rows, Capability("e2b sandbox", False, str(error), "try again; is the server up?")]
        took = f"template {options.template('python')}, made and ended in {time.monotonic() - started:.2f} s"
        limits = f"{options.max_sandboxes} sandboxes at once, {options.creates_per_s:g} creates per second"
        return [*rows, Capability("e2b sandbox", True, took), Capability("e2b limits", True, limits)]

    async def caps(self) -> Sequence[CapRow]:
        """What the guest enforces in such sandboxes; what they do themselves is the account's and the template's. Asks
        one for its tier."""
        try:
            machine = await self._try()
        except ConfigurationError as error:
            raise ProviderDown(str(error)) from error
        own_files = machine.tier == "namespaces"
        rows = (
            *guest_caps(),
            CapRow(Cap.CPU_TIME, "run", "supervisor, from /proc; RLIMIT_CPU"),
            CapRow(Cap.CPU_SHARE, "none", "the template's CPUs"),
            CapRow(Cap.MEMORY, "process", "RLIMIT_DATA"),
            CapRow(Cap.SWAP, "process", "RLIMIT_DATA counts swapped pages too"),
            CapRow(Cap.PROCESSES, "run", "RLIMIT_NPROC of the run's own user, or of the guest's user namespace"),
            CapRow(Cap.DISK_BYTES, "run" if own_files else "box", "tmpfs size"),
            CapRow(Cap.DISK_INODES, "run" if own_files else "box", "tmpfs nr_inodes"),
            CapRow(Cap.PTYS, "none", "the sandbox's own, of a kernel of its own"),
            CapRow(Cap.NETWORK, "box", "created without internet access; a network namespace where root may make one"),
        )
        return in_order(rows)

    def costs(self) -> Mapping[str, int]:
        return self._account.costs()
