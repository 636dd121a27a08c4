"""Sandboxes that tenants hold: made, paused, resumed, forked, kept as snapshots, and ended when their time is up.

Owns who holds which box and until when. Knows neither HTTP nor how boxes are made.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import structlog

from sandbox_gym.errors import BoxLost, SandboxGymError
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from sandbox_gym.server.e2b_api.accounts import Accounts, Tenant, new_id
from sandbox_gym.server.e2b_api.faults import Fault, sandbox_not_found
from sandbox_gym.server.e2b_api.jobs import Work, real
from sandbox_gym.server.e2b_api.machines import Machine, Machines
from sandbox_gym.server.e2b_api.records import Image, Kept, Records

SWEEP_S: Final = 0.2
SAMPLE_S: Final = 5.0
COLLECT_S: Final = 60.0
OPEN_S: Final = 120.0
MAX_SAMPLES: Final = 720
MAX_FORKS: Final = 100
_log = structlog.get_logger(__name__)


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
    box: Machine | None = None
    work: Work | None = None
    lock: anyio.Lock = field(default_factory=anyio.Lock)
    samples: deque[Sample] = field(default_factory=lambda: deque(maxlen=MAX_SAMPLES))
    cpu_s: float = 0.0
    opened_at: float = 0.0
    dead: bool = False

    @property
    def sandbox_id(self) -> str:
        return self.kept.sandbox_id

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


class Sandboxes:
    """Use `holding` to make one."""

    def __init__(
        self, machines: Machines, accounts: Accounts, folder: Path, tasks: anyio.abc.TaskGroup, *, most: int
    ) -> None:
        """`most`: boxes at once on this machine."""
        self.machines, self.accounts, self.tasks = machines, accounts, tasks
        self._most = most
        self._records = Records(folder)
        self._sandboxes: dict[str, Sandbox] = {}
        self._images: dict[str, Image] = {one.snapshot_id: one for one in self._records.images()}
        self._opening: dict[str, int] = {}
        self._taken = anyio.Event()
        for kept in self._records.sandboxes():
            self._sandboxes[kept.sandbox_id] = Sandbox(kept, end_at=time.time())

    # -- who is there

    def of(self, tenant: Tenant, sandbox_id: str) -> Sandbox:
        """A tenant's own. Raises Fault 404, also for somebody else's."""
        found = self._sandboxes.get(sandbox_id)
        if found is None or found.kept.tenant != tenant.name:
            raise sandbox_not_found(sandbox_id)
        return found

    def find(self, sandbox_id: str) -> Sandbox | None:
        """Anybody's, for a caller that will ask for its token."""
        return self._sandboxes.get(sandbox_id)

    def all_of(self, tenant: Tenant) -> list[Sandbox]:
        return [one for one in self._sandboxes.values() if one.kept.tenant == tenant.name]

    def running(self) -> list[Sandbox]:
        return [one for one in self._sandboxes.values() if one.running]

    # -- making

    async def create(self, tenant: Tenant, wish: Wish) -> Sandbox:
        """Raises Fault, PoolFull, ProviderDown."""
        check_timeout(tenant, wish.timeout_s)
        source = self._image(tenant, wish.template)
        image = source.image if source else await self.machines.image(wish.template)
        if image is None:
            raise Fault(404, f"template {wish.template[:80]!r} not found")
        wait_s = self.accounts.may_create(tenant)
        if wait_s > 0:
            raise Fault(429, f"more than {tenant.creates_per_s:g} sandboxes per second", retry_after_s=wait_s)
        sandbox = self._new(tenant, wish, image)
        snapshot_id = source.snapshot_id if source else None
        with self._place(tenant, new=True):
            await self._open(sandbox, snapshot_id)
        self._sandboxes[sandbox.sandbox_id] = sandbox
        _log.info("sandbox_created", sandbox=sandbox.sandbox_id, tenant=tenant.name, image=image)
        return sandbox

    def _new(self, tenant: Tenant, wish: Wish, image: str) -> Sandbox:
        now = time.time()
        kept = Kept(
            sandbox_id=new_id("i"),
            tenant=tenant.name,
            template=wish.template or "base",
            image=image,
            token=new_id("", 40),
            traffic_token=new_id("", 40),
            public_traffic=wish.public_traffic,
            started_at=now,
            metadata=wish.metadata,
            env=wish.env,
            auto_pause=wish.auto_pause,
            auto_resume=wish.auto_resume,
            timeout_s=wish.timeout_s,
        )
        return Sandbox(kept, end_at=now + wish.timeout_s)

    def _place(self, tenant: Tenant, *, new: bool) -> _Place:
        """A place among those that run, taken while a box is opened. Raises Fault."""
        opening = sum(self._opening.values())
        if len(self.running()) + opening >= self._most:
            raise Fault(503, f"no capacity: {self._most} sandboxes run on this machine", retry_after_s=2)
        own = self.all_of(tenant)
        mine = self._opening.get(tenant.name, 0)
        if sum(one.running for one in own) + mine >= tenant.sandboxes:
            raise Fault(429, f"you have reached the maximum number of concurrent sandboxes ({tenant.sandboxes})")
        if new and len(own) + mine >= tenant.held:
            raise Fault(429, f"you hold {tenant.held} sandboxes, as many as you may; kill some")
        return _Place(self._opening, tenant.name)

    async def _open(self, sandbox: Sandbox, snapshot_id: str | None) -> None:
        with anyio.fail_after(OPEN_S):
            box, envd = await self.machines.open(sandbox.kept.image, snapshot_id)
        sandbox.box, sandbox.work = box, Work(envd)
        sandbox.cpu_s = 0.0
        sandbox.opened_at = time.monotonic()
        self._taken.set()

    # -- ending

    async def kill(self, sandbox: Sandbox) -> None:
        """For good: box, paused state and all. Idempotent."""
        with anyio.CancelScope(shield=True):
            sandbox.dead = True
            self._sandboxes.pop(sandbox.sandbox_id, None)
            await self._stop(sandbox)
            async with sandbox.lock:
                await self._stop(sandbox)  # what a resume that was under way has opened
                await self._forget(sandbox)

    async def _stop(self, sandbox: Sandbox) -> None:
        box, sandbox.box, sandbox.work = sandbox.box, None, None
        if box is not None:
            try:
                await box.aclose()
            except (SandboxGymError, OSError) as error:
                _log.warning("box_not_closed", sandbox=sandbox.sandbox_id, why=str(error))

    async def _forget(self, sandbox: Sandbox) -> None:
        """A paused state that is needed no more."""
        snapshot_id = sandbox.kept.snapshot_id
        self._records.remove(sandbox.kept)
        sandbox.kept = replace(sandbox.kept, snapshot_id="")
        if snapshot_id:
            await self._delete(snapshot_id)

    async def _delete(self, snapshot_id: str) -> None:
        try:
            await self.machines.delete(snapshot_id)
        except (SandboxGymError, OSError) as error:
            _log.warning("snapshot_not_deleted", snapshot=snapshot_id, why=str(error))

    # -- pausing

    async def pause(self, sandbox: Sandbox) -> None:
        """Keep the files, end the processes. Raises Fault 409 when it is paused already, SnapshotFailed, BoxLost."""
        async with sandbox.lock:
            if sandbox.dead:
                raise sandbox_not_found(sandbox.sandbox_id)
            if sandbox.box is None or sandbox.work is None:
                raise Fault(409, f"Sandbox {sandbox.sandbox_id} is already paused")
            with anyio.CancelScope(shield=True):
                await sandbox.work.envd.call({"op": "quit_all"})
                sandbox.box.busy = False
                snapshot = await sandbox.box.snapshot()
                sandbox.kept = replace(sandbox.kept, snapshot_id=snapshot.snapshot_id)
                self._records.write(sandbox.kept)
                await self._stop(sandbox)

    async def resume(self, tenant: Tenant, sandbox: Sandbox, timeout_s: int) -> bool:
        """Have it run for so long from now; a running one lives at least as long as it did. Whether it was paused."""
        check_timeout(tenant, timeout_s)
        async with sandbox.lock:
            if sandbox.dead:
                raise sandbox_not_found(sandbox.sandbox_id)
            now = time.time()
            if sandbox.running:
                sandbox.end_at = max(sandbox.end_at, now + timeout_s)
                return False
            with self._place(tenant, new=False):
                try:
                    await self._open(sandbox, sandbox.kept.snapshot_id)
                except NoSuchSnapshot:
                    self._sandboxes.pop(sandbox.sandbox_id, None)
                    self._records.remove(sandbox.kept)
                    raise sandbox_not_found(sandbox.sandbox_id) from None
            sandbox.end_at = time.time() + timeout_s
            sandbox.kept = replace(sandbox.kept, timeout_s=timeout_s)
            with anyio.CancelScope(shield=True):
                await self._forget(sandbox)
            return True

    async def wake(self, sandbox: Sandbox) -> bool:
        """Resume one that asked to be woken by a request. Whether it runs. Raises Fault, Unavailable."""
        if sandbox.running:
            return True
        if not sandbox.kept.auto_resume or sandbox.dead:
            return False
        tenant = self.accounts_tenant(sandbox.kept.tenant)
        await self.resume(tenant, sandbox, min(sandbox.kept.timeout_s, tenant.max_timeout_s))
        return True

    def accounts_tenant(self, name: str) -> Tenant:
        """A tenant by its name; one with the usual quotas where it is no longer in the file."""
        return self.accounts.named(name) or Tenant(name)

    # -- snapshots

    async def snapshot(self, tenant: Tenant, sandbox: Sandbox, name: str) -> Image:
        """Keep the files as they are; what runs goes on. Raises Fault, SnapshotFailed, BoxLost."""
        own = [one for one in self._images.values() if one.tenant == tenant.name]
        if len(own) >= tenant.snapshots:
            raise Fault(429, f"you hold {tenant.snapshots} snapshots, as many as you may; delete some")
        async with sandbox.lock:
            if not sandbox.running:
                raise Fault(409, f"Sandbox {sandbox.sandbox_id} is paused")
            snapshot_id = await self._keep(sandbox, durable=True)
        image = Image(snapshot_id, tenant.name, sandbox.kept.image, sandbox.sandbox_id, time.time(), name)
        for older in own:
            if name and older.name == name:
                renamed = replace(older, name="")
                self._images[older.snapshot_id] = renamed
                self._records.write(renamed)
        self._images[snapshot_id] = image
        self._records.write(image)
        return image

    async def _keep(self, sandbox: Sandbox, *, durable: bool) -> str:
        """A snapshot of a running sandbox, whose processes stand still meanwhile."""
        assert sandbox.work is not None
        assert sandbox.box is not None
        with anyio.CancelScope(shield=True):
            held, _ = await sandbox.work.envd.call({"op": "hold", "on": True})
            try:
                sandbox.box.busy = bool(held.get("running")) or bool(sandbox.work.notebooks)
                snapshot = await sandbox.box.snapshot(durable=durable)
            finally:
                if sandbox.work is not None:
                    await sandbox.work.envd.call({"op": "hold", "on": False})
        return snapshot.snapshot_id

    def images(self, tenant: Tenant) -> list[Image]:
        """A tenant's snapshots, newest first."""
        own = [one for one in self._images.values() if one.tenant == tenant.name]
        return sorted(own, key=lambda one: one.created_at, reverse=True)

    def _image(self, tenant: Tenant, template: str) -> Image | None:
        """A tenant's snapshot by id or name."""
        wanted = template.removesuffix(":default")
        own = self.images(tenant)
        return next((one for one in own if wanted and wanted in (one.snapshot_id, one.name)), None)

    async def delete_image(self, tenant: Tenant, template: str) -> None:
        """Raises Fault 404."""
        image = self._image(tenant, template)
        if image is None:
            raise Fault(404, f"template {template[:80]!r} not found")
        del self._images[image.snapshot_id]
        self._records.remove(image)
        await self._delete(image.snapshot_id)

    async def fork(self, tenant: Tenant, sandbox: Sandbox, count: int, timeout_s: int) -> list[Sandbox | Exception]:
        """`count` sandboxes that go on from where this one is now, or why not, each."""
        check_timeout(tenant, timeout_s)
        if not 1 <= count <= MAX_FORKS:
            raise Fault(400, f"count is between 1 and {MAX_FORKS}")
        async with sandbox.lock:
            if not sandbox.running:
                raise Fault(409, f"Sandbox {sandbox.sandbox_id} is paused")
            snapshot_id = await self._keep(sandbox, durable=False)
        forks: list[Sandbox | Exception] = []
        try:
            for _ in range(count):
                try:
                    forks.append(await self._fork(tenant, sandbox, snapshot_id, timeout_s))
                except SandboxGymError as error:
                    forks.append(error)
        finally:
            with anyio.CancelScope(shield=True):
                await self._delete(snapshot_id)
        return forks

    async def _fork(self, tenant: Tenant, parent: Sandbox, snapshot_id: str, timeout_s: int) -> Sandbox:
        kept = parent.kept
        wish = Wish(
            kept.template, timeout_s, kept.metadata, kept.env, kept.auto_pause, kept.auto_resume, kept.public_traffic
        )
        sandbox = self._new(tenant, wish, kept.image)
        with self._place(tenant, new=True):
            await self._open(sandbox, snapshot_id)
        self._sandboxes[sandbox.sandbox_id] = sandbox
        return sandbox

    # -- time

    async def run(self) -> None:
        """End what is over, measure, and collect, until cancelled."""
        collected = sampled = time.monotonic()
        while True:
            await anyio.sleep(SWEEP_S)
            now = time.time()
            for sandbox in self.running():
                over = sandbox.end_at <= now or (sandbox.box is not None and getattr(sandbox.box, "worn", False))
                lost = sandbox.work is not None and sandbox.work.envd.ended.is_set()
                if lost or (over and not sandbox.lock.locked()):
                    self.tasks.start_soon(self._expire, sandbox, lost)
                    sandbox.end_at = now + 60  # it is seen to
            if time.monotonic() - sampled > SAMPLE_S:
                sampled = time.monotonic()
                for sandbox in self.running():
                    self.tasks.start_soon(self._try_sample, sandbox)
            if time.monotonic() - collected > COLLECT_S:
                collected = time.monotonic()
                await self._collect()

    async def _expire(self, sandbox: Sandbox, lost: bool) -> None:
        """Its time is up, or its box is lost."""
        if not lost and sandbox.kept.auto_pause:
            try:
                await self.pause(sandbox)
                return
            except (SandboxGymError, OSError) as error:
                _log.warning("sandbox_not_paused", sandbox=sandbox.sandbox_id, why=str(error))
        _log.info("sandbox_over", sandbox=sandbox.sandbox_id, lost=lost)
        await self.kill(sandbox)

    async def _try_sample(self, sandbox: Sandbox) -> None:
        try:
            await self.sample(sandbox)
        except SandboxGymError:
            return  # it ended meanwhile

    async def sample(self, sandbox: Sandbox) -> None:
        """Measure now. Raises BoxLost."""
        work = sandbox.work
        if work is None:
            raise BoxLost("it does not run")
        usage, _ = await work.envd.call({"op": "usage", "disk_bytes": self.machines.disk_bytes})
        now = time.monotonic()
        cpu_s = real(usage, "cpu_s")
        since = sandbox.opened_at if not sandbox.samples else now - (time.time() - sandbox.samples[-1].at)
        share = 100 * max(0.0, cpu_s - sandbox.cpu_s) / max(0.05, now - since)
        sandbox.cpu_s = cpu_s
        memory = min(int(real(usage, "memory")), self.machines.limits.memory_bytes)
        disk = min(int(real(usage, "disk_used")), self.machines.disk_bytes)
        pct = min(share, 100 * self.machines.limits.cpus)
        sandbox.samples.append(Sample(time.time(), pct, memory, disk))

    async def _collect(self) -> None:
        pinned = {one.kept.snapshot_id for one in self._sandboxes.values() if one.kept.snapshot_id}
        try:
            await self.machines.collect(pinned | set(self._images))
        except (SandboxGymError, OSError) as error:
            _log.warning("collection_failed", why=str(error))

    async def keep_prepared(self) -> None:
        """Have boxes ready before they are asked for, until cancelled."""
        while True:
            try:
                await self.machines.prepare()
            except (SandboxGymError, OSError) as error:
                _log.warning("boxes_not_prepared", why=str(error))
                await anyio.sleep(5)
                continue
            await self._taken.wait()
            self._taken = anyio.Event()

    async def aclose(self) -> None:
        """End what runs; what is paused stays on disk."""
        with anyio.CancelScope(shield=True):
            for sandbox in self.running():
                self._sandboxes.pop(sandbox.sandbox_id, None)
                await self._stop(sandbox)
            await self.machines.aclose()


class _Place:
    """A place that is taken while a box is opened."""

    def __init__(self, opening: dict[str, int], tenant: str) -> None:
        self._opening, self._tenant = opening, tenant
        opening[tenant] = opening.get(tenant, 0) + 1

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._opening[self._tenant] -= 1


def check_timeout(tenant: Tenant, timeout_s: int) -> None:
    """Raises Fault 400."""
    if not 0 <= timeout_s <= tenant.max_timeout_s:
        raise Fault(400, f"Timeout cannot be greater than {tenant.max_timeout_s / 3600:g} hours, or negative")


@asynccontextmanager
async def holding(sandboxes: Sandboxes, tasks: anyio.abc.TaskGroup) -> AsyncIterator[Sandboxes]:
    """Sandboxes, with their housekeeping under way; at the end none runs."""
    tasks.start_soon(sandboxes.run)
    tasks.start_soon(sandboxes.keep_prepared)
    try:
        yield sandboxes
    finally:
        await sandboxes.aclose()
