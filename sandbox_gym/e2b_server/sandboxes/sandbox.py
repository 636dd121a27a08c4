"""One sandbox as the server knows it: its request, its end, its use of resources. Opens no box."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import anyio

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.processes import Work, real
from sandbox_gym.e2b_server.sandboxes.records import Image, Made, SandboxRecord, Wishes
from sandbox_gym.e2b_server.sandboxes.templates import DEFAULT_TAG, ROOT, Kind
from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import Limits
from sandbox_gym.network import AllowList, Network
from sandbox_gym.sandbox.channel.envd import ROOT_USER, USER
from sandbox_gym.sandbox.egress.proxy import EgressProxy
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.server.access.accounts import Tenant, new_id

MAX_SAMPLES: Final = 720
CLOCK_S: Final = 1.0
"""By so much the machine's clock may drift before what clients are told of a sandbox's end follows it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a sandbox used at one time. In bytes and in percent of one CPU."""

    at: float
    cpu_pct: float
    memory: int
    disk: int


@dataclass(slots=True, eq=False)
class Sandbox:
    """One sandbox; paused where there is no `work`."""

    record: SandboxRecord
    until: float
    """When its time is over, by `time.monotonic`: a correction of the machine's clock ends and keeps none."""
    box: Session | None = None
    work: Work | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=MAX_SAMPLES))
    cpu_s: float = 0.0
    measured_at: float = 0.0
    """Or opened, by `time.monotonic`."""
    pause_failures: int = 0
    may_root: bool = False
    """Whether commands may run as its root: its provider has one, and its tenant may."""
    dead: bool = False
    _end_at: float = 0.0

    def lasts(self, seconds: float) -> None:
        """From now on."""
        self.until, self._end_at = time.monotonic() + seconds, time.time() + seconds

    @property
    def end_at(self) -> float:
        """Unix seconds, by the machine's clock as it is now."""
        end_at = time.time() + self.until - time.monotonic()
        if abs(end_at - self._end_at) > CLOCK_S:
            self._end_at = end_at
        return self._end_at

    @property
    def sandbox_id(self) -> str:
        return self.record.sandbox_id

    @property
    def root(self) -> bool:
        """Whether its commands run as the box's root."""
        return self.record.image.endswith(ROOT)

    @property
    def kind(self) -> Kind:
        """The kind of box that it needs."""
        allow_out = self.record.allow_out
        return Kind(self.record.image, Network(self.record.network, None if allow_out is None else tuple(allow_out)))

    @property
    def egress(self) -> EgressProxy | None:
        """Its egress proxy, whatever the allow-list is now."""
        return self.box.sandbox.egress if self.box is not None else None

    @property
    def running(self) -> bool:
        return self.work is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRequest(Wishes):
    """A client's request for a sandbox, checked."""

    template: str
    network: bool = False
    """Everything that the tenant may reach."""
    allow_out: Sequence[str] = ()
    """Unless empty: only these entries."""


def new_sandbox(tenant: Tenant, asked: SandboxRequest, image: str, kept: Image | None = None) -> Sandbox:
    """A sandbox whose box is not opened yet. `kept`: the snapshot that it is made from. Raises Fault 403."""
    now = time.time()
    network, made = granted(tenant, asked.network, asked.allow_out), kept.made if kept is not None else Made()
    name = asked.template or "base"
    wishes: dict[str, Any] = {one.name: getattr(asked, one.name) for one in fields(Wishes)}
    record = SandboxRecord(
        **{**wishes, "env": {**made.env, **asked.env}},
        sandbox_id=new_id("i"),
        tenant=tenant.name,
        template=name.removesuffix(DEFAULT_TAG) if kept is None else name,
        template_id="" if kept is None else made.template_id or kept.snapshot_id,
        image=image,
        token=new_id("", 40),
        traffic_token=new_id("", 40),
        started_at=now,
        network=network.machine,
        allow_out=network.allow,
        workdir=made.workdir,
        user=made.user,
        rooted=kept is not None and kept.rooted,
    )
    sandbox = Sandbox(record, 0.0)
    sandbox.lasts(asked.timeout_s)
    return sandbox


def new_fork(tenant: Tenant, parent: SandboxRecord, timeout_s: int) -> Sandbox:
    """As its parent, and not opened yet. Raises Fault 403."""
    asked = SandboxRequest(
        template=parent.template, timeout_s=timeout_s, network=parent.network, allow_out=parent.allow_out or ()
    )
    fork = new_sandbox(tenant, asked, parent.image)
    own = ("sandbox_id", "token", "traffic_token", "started_at", "timeout_s", "network")
    # an empty allow-list may be replaced later, in a fork too
    allow_out = fork.record.allow_out if parent.allow_out is None else parent.allow_out
    changed = {name: getattr(fork.record, name) for name in own}
    fork.record = replace(parent, **changed, allow_out=allow_out, snapshot_id="")
    return fork


def restrict(tenant: Tenant, sandbox: Sandbox, allow_out: Sequence[str]) -> None:
    """Replace the allow-list of a running sandbox that has an egress proxy. Raises Fault."""
    if sandbox.box is None:
        raise Fault(409, f"Sandbox {sandbox.sandbox_id} is paused")
    if sandbox.egress is None:
        raise Fault(400, "this sandbox was created without an egress proxy, so its network can't be changed")
    entries = granted(tenant, False, allow_out).allow or ()
    sandbox.egress.restrict(entries)
    sandbox.record = replace(sandbox.record, allow_out=entries)


async def measure(sandbox: Sandbox, limits: Limits) -> None:
    """Ask a running sandbox what it uses now. Raises BoxLost."""
    work = sandbox.work
    if work is None:
        raise BoxLost("it does not run")
    usage, _ = await work.envd.call({"op": "usage", "disk_bytes": limits.scratch_bytes})
    now = time.monotonic()
    cpu_s = real(usage, "cpu_s")
    share = 100 * max(0.0, cpu_s - sandbox.cpu_s) / max(0.05, now - sandbox.measured_at)
    sandbox.cpu_s, sandbox.measured_at = cpu_s, now
    memory = min(int(real(usage, "memory")), limits.memory_bytes)
    disk = min(int(real(usage, "disk_used")), limits.scratch_bytes)
    pct = min(share, 100 * limits.cpus)
    sandbox.samples.append(Sample(time.time(), pct, memory, disk))


def check_timeout(tenant: Tenant, timeout_s: int) -> None:
    """Raises Fault 400."""
    if not 0 <= timeout_s <= tenant.max_timeout_s:
        raise Fault(400, f"Timeout cannot be greater than {tenant.max_timeout_s / 3600:g} hours, or negative")


def check_user(name: str, sandbox: Sandbox | None = None) -> None:
    """Raises Fault 401 for a user that a sandbox does not have."""
    if name in ("", USER) or (name == ROOT_USER and sandbox is not None and (sandbox.root or sandbox.may_root)):
        return
    why = f"invalid username: user {name[:40]!r} does not exist; everything here runs as {USER!r}"
    raise Fault(401, why, code="unauthenticated")


def check_root(tenant: Tenant) -> None:
    """Raises Fault 403 for what is root's, by its template's name or since commands have run as root, to a tenant that
    may have none of it."""
    if not tenant.root:
        raise Fault(403, "this runs as root, or did, which is for tenants with `root = true` in the pool's keys")


def check_keepable(sandbox: Sandbox) -> None:
    """Raises Fault 400 for a sandbox whose programs run as root: its files can't be trusted in another sandbox."""
    if sandbox.root:
        raise Fault(400, f"Sandbox {sandbox.sandbox_id} has a template that ends in :root; those can't be snapshotted")


def granted(tenant: Tenant, everything: bool, allow_out: Sequence[str]) -> Network:
    """The network of a sandbox. Raises Fault 403 for an entry that the tenant may not reach, instead of dropping it:
    the client would notice a missing entry late."""
    within = reachable(tenant, allow_out)
    for entry in allow_out:
        if entry not in within:
            raise Fault(403, f"network.allowOut: {entry!r} is not among what this tenant may reach")
    if allow_out:
        return Network(allow=tuple(allow_out))
    if not everything:
        return Network()
    return Network(machine=True) if tenant.network else Network(allow=tenant.allow_out or None)


def reachable(tenant: Tenant, allow_out: Sequence[str]) -> tuple[str, ...]:
    """The entries of an allow-list that the tenant may reach."""
    if tenant.network:
        return tuple(allow_out)
    own = AllowList(tenant.allow_out)
    return tuple(entry for entry in allow_out if own.covers(entry))
