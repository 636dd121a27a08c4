"""One sandbox as the server knows it: how it was asked for, until when it lives, what it uses. Makes nothing."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.jobs import Work, real
from sandbox_gym.e2b_server.sandboxes.records import Kept
from sandbox_gym.e2b_server.sandboxes.templates import ROOT, Kind
from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import Limits
from sandbox_gym.network import Network
from sandbox_gym.sandbox.egress.proxy import EgressProxy
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.server.access.accounts import Tenant

MAX_SAMPLES: Final = 720


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sandbox used at a time. Bytes, and percent of one CPU."""

    at: float
    cpu_pct: float
    memory: int
    disk: int


@dataclass(slots=True, eq=False)
class Sandbox:
    """One sandbox; paused where there is no `work`."""

    kept: Kept
    end_at: float
    box: Session | None = None
    work: Work | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=MAX_SAMPLES))
    cpu_s: float = 0.0
    opened_at: float = 0.0
    pause_failures: int = 0
    dead: bool = False

    @property
    def sandbox_id(self) -> str:
        return self.kept.sandbox_id

    @property
    def root(self) -> bool:
        """Whether its commands run as the box's root."""
        return self.kept.image.endswith(ROOT)

    @property
    def kind(self) -> Kind:
        """What its box is made as."""
        allow_out = self.kept.allow_out
        return Kind(self.kept.image, Network(self.kept.network, None if allow_out is None else tuple(allow_out)))

    @property
    def egress(self) -> EgressProxy | None:
        """The proxy that is its way out, whatever that lets through now."""
        return self.box.sandbox.egress if self.box is not None else None

    @property
    def running(self) -> bool:
        return self.work is not None


@dataclass(frozen=True, slots=True)
class Wish:
    """How a sandbox is asked for."""

    template: str
    timeout_s: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    auto_pause: bool = False
    auto_resume: bool = False
    public_traffic: bool = True
    network: bool = False
    """All that the tenant may reach."""
    allow_out: Sequence[str] = ()
    """No more than this of it, where it says anything."""
    mask_host: str = ""


async def measure(sandbox: Sandbox, limits: Limits) -> None:
    """Ask a running sandbox what it uses now. Raises BoxLost."""
    work = sandbox.work
    if work is None:
        raise BoxLost("it does not run")
    usage, _ = await work.envd.call({"op": "usage", "disk_bytes": limits.scratch_bytes})
    now = time.monotonic()
    cpu_s = real(usage, "cpu_s")
    since = sandbox.opened_at if not sandbox.samples else now - (time.time() - sandbox.samples[-1].at)
    share = 100 * max(0.0, cpu_s - sandbox.cpu_s) / max(0.05, now - since)
    sandbox.cpu_s = cpu_s
    memory = min(int(real(usage, "memory")), limits.memory_bytes)
    disk = min(int(real(usage, "disk_used")), limits.scratch_bytes)
    pct = min(share, 100 * limits.cpus)
    sandbox.samples.append(Sample(time.time(), pct, memory, disk))


def check_timeout(tenant: Tenant, timeout_s: int) -> None:
    """Raises Fault 400."""
    if not 0 <= timeout_s <= tenant.max_timeout_s:
        raise Fault(400, f"Timeout cannot be greater than {tenant.max_timeout_s / 3600:g} hours, or negative")
