"""The sandboxes of all tenants: create, pause, resume, fork, snapshot, kill.

Owns which tenant has which box and until when. Knows neither HTTP nor how boxes are made.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
import structlog

from sandbox_gym.e2b_server.faults import Fault, sandbox_not_found
from sandbox_gym.e2b_server.sandboxes.frozen import Frozen
from sandbox_gym.e2b_server.sandboxes.images import Images, parsed
from sandbox_gym.e2b_server.sandboxes.processes import Work
from sandbox_gym.e2b_server.sandboxes.quotas import Quotas
from sandbox_gym.e2b_server.sandboxes.records import Image, Made, Records
from sandbox_gym.e2b_server.sandboxes.sandbox import (
    Sandbox,
    SandboxRequest,
    check_keepable,
    check_root,
    check_timeout,
    check_user,
    measure,
    new_fork,
    new_sandbox,
    reachable,
)
from sandbox_gym.e2b_server.sandboxes.templates import ROOT, Machines
from sandbox_gym.errors import BoxLost, SandboxGymError
from sandbox_gym.faults import as_provider_down, log_failure
from sandbox_gym.sandbox.channel.envd import ROOT_USER, Envd
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.sandbox.session.snapshot_budget import SnapshotBudget
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from sandbox_gym.server.access.accounts import Accounts, Tenant

OPEN_S: Final = 120.0
MAX_FORKS: Final = 100
_log = structlog.get_logger(__name__)


class Sandboxes:
    """Use `holding` to make one."""

    def __init__(
        self, machines: Machines, accounts: Accounts, folder: Path, tasks: anyio.abc.TaskGroup, *, most: int
    ) -> None:
        """`most`: how many may run at once on this machine."""
        self.machines, self.accounts, self.tasks = machines, accounts, tasks
        self.most, self.folder = most, folder
        self._records = Records(folder)
        self._sandboxes: dict[str, Sandbox] = {}
        self.images = Images(self._records)
        self._quotas, self.frozen = Quotas(most), Frozen(most)
        self._box_taken = anyio.Event()
        self.budget = SnapshotBudget(machines.store, machines.budget_bytes, self._needed)
        for record in self._records.sandboxes():
            self._sandboxes[record.sandbox_id] = Sandbox(record, time.monotonic())

    # -- find

    def of(self, tenant: Tenant, sandbox_id: str) -> Sandbox:
        """A tenant's own sandbox. Raises Fault 404, also for another tenant's."""
        found = self._sandboxes.get(sandbox_id)
        if found is None or found.record.tenant != tenant.name:
            raise sandbox_not_found(sandbox_id)
        return found

    def find(self, sandbox_id: str) -> Sandbox | None:
        """A sandbox of any tenant, for a caller that checks its token."""
        return self._sandboxes.get(sandbox_id)

    def all_of(self, tenant: Tenant) -> list[Sandbox]:
        return [one for one in self._sandboxes.values() if one.record.tenant == tenant.name]

    def everyone(self) -> list[Sandbox]:
        """Running and paused, of all tenants, the oldest first."""
        return list(self._sandboxes.values())

    def running(self) -> list[Sandbox]:
        return [one for one in self._sandboxes.values() if one.running]

    # -- create

    async def create(self, tenant: Tenant, asked: SandboxRequest) -> Sandbox:
        """Raises Fault, PoolFull, ProviderDown."""
        check_timeout(tenant, asked.timeout_s)
        image, kept = await self.source(tenant, asked.template)
        if image.endswith(ROOT) or (kept is not None and kept.rooted):
            check_root(tenant)
        self._count_create(tenant)
        sandbox = new_sandbox(tenant, asked, image, kept)
        await self._begin(tenant, sandbox, None if kept is None else kept.snapshot_id)
        _log.info("sandbox_created", sandbox=sandbox.sandbox_id, tenant=tenant.name, image=image)
        return sandbox

    async def source(self, tenant: Tenant, template: str) -> tuple[str, Image | None]:
        """(image, snapshot of it) that a template's name stands for: a tenant's own snapshots before images. Raises
        Fault 404."""
        source = self.images.find(tenant, template)
        if source is not None:
            return source.image, source
        source = self.images.find(tenant, template.removesuffix(ROOT)) if template.endswith(ROOT) else None
        if source is not None:
            return f"{source.image}{ROOT}", source
        image = await self.machines.image(template)
        if image is None:
            raise Fault(404, f"template {template[:80]!r} not found")
        return image, None

    async def _begin(self, tenant: Tenant, sandbox: Sandbox, snapshot_id: str | None) -> None:
        with self._quotas.reserved(tenant, self._sandboxes.values(), new=True):
            await self._open(sandbox, snapshot_id)
        self._sandboxes[sandbox.sandbox_id] = sandbox

    async def _open(self, sandbox: Sandbox, snapshot_id: str | None) -> None:
        await self.frozen.make_room(len(self.running()) + self._quotas.opening)
        with anyio.fail_after(OPEN_S), as_provider_down("a sandbox can't be opened"):
            box, envd = await self.machines.open(sandbox.kind, snapshot_id)
        sandbox.box, sandbox.work = box, Work(envd)
        sandbox.may_root = self.machines.root and self.accounts_tenant(sandbox.record.tenant).root and not sandbox.root
        sandbox.cpu_s = 0.0
        sandbox.measured_at = time.monotonic()
        self._box_taken.set()

    async def driver(self, sandbox: Sandbox, user: str) -> Envd:
        """What serves a user; root's starts at its first use. Raises Fault, BoxLost, ProviderDown."""
        work = sandbox.work
        if work is None or sandbox.box is None:
            raise BoxLost("it does not run")
        if user != ROOT_USER or sandbox.root:
            return work.envd
        check_user(user, sandbox)
        sandbox.record = replace(sandbox.record, rooted=True)
        return await work.as_root(partial(self.machines.open_root, sandbox.box))

    # -- kill

    async def kill(self, sandbox: Sandbox) -> None:
        """Remove the sandbox for good: its box, its paused state, its record. Idempotent."""
        with anyio.CancelScope(shield=True):
            sandbox.dead = True
            self._sandboxes.pop(sandbox.sandbox_id, None)
            await self._stop(sandbox)
            async with sandbox.lock:
                await self._stop(sandbox)  # a box that a concurrent resume has opened
                await self._forget(sandbox)

    async def _stop(self, sandbox: Sandbox) -> None:
        if sandbox.dead:
            await self.frozen.give_up(sandbox)
        box, sandbox.box, sandbox.work = sandbox.box, None, None
        if box is not None:
            try:
                await box.aclose()
            except Exception as error:
                log_failure("box_not_closed", error, sandbox=sandbox.sandbox_id)

    async def _forget(self, sandbox: Sandbox) -> None:
        """Delete the record and the paused state."""
        snapshot_id = sandbox.record.snapshot_id
        self._records.remove(sandbox.record)
        sandbox.record = replace(sandbox.record, snapshot_id="")
        if snapshot_id:
            await self.budget.delete(snapshot_id)

    # -- pause and resume

    async def pause(self, sandbox: Sandbox, *, memory: bool) -> None:
        """Keep the files, and with `memory` what runs, as far as this machine can. Raises Fault 409 when it is paused
        already, SnapshotFailed, BoxLost."""
        async with sandbox.lock:
            if sandbox.dead:
                raise sandbox_not_found(sandbox.sandbox_id)
            if sandbox.box is None or sandbox.work is None:
                raise Fault(409, f"Sandbox {sandbox.sandbox_id} is already paused")
            check_keepable(sandbox)
            await self.budget.have_room()
            with anyio.CancelScope(shield=True):
                if memory and not sandbox.work.in_a_cell:
                    async with sandbox.work.held() as busy:
                        await self._keep_paused(sandbox, sandbox.box, busy=busy)
                        await self.frozen.freeze(self.accounts_tenant(sandbox.record.tenant), sandbox)
                else:
                    async with sandbox.work.quit_all():
                        await self._keep_paused(sandbox, sandbox.box, busy=False)
                        await self._stop(sandbox)
                await self._stop(sandbox)

    async def _keep_paused(self, sandbox: Sandbox, box: Session, *, busy: bool) -> None:
        """Raises SnapshotFailed, BoxLost."""
        snapshot = await box.snapshot(busy=busy)
        self.budget.count(snapshot)
        sandbox.record = replace(sandbox.record, snapshot_id=snapshot.snapshot_id)
        self._records.write(sandbox.record)

    async def resume(self, tenant: Tenant, sandbox: Sandbox, timeout_s: int, *, memory: bool = True) -> bool:
        """Run it for `timeout_s` from now; a running one never loses time. Without `memory` it begins anew with its
        files. Returns whether it was paused."""
        check_timeout(tenant, timeout_s)
        async with sandbox.lock:
            if sandbox.dead:
                raise sandbox_not_found(sandbox.sandbox_id)
            if sandbox.running:
                if sandbox.until < time.monotonic() + timeout_s:
                    sandbox.lasts(timeout_s)
                return False
            if sandbox.record.rooted:
                check_root(tenant)
            before, had_out = sandbox.record, sandbox.record.allow_out
            sandbox.record = replace(
                sandbox.record,
                network=sandbox.record.network and tenant.network,
                allow_out=None if had_out is None else reachable(tenant, had_out),
            )
            with self._quotas.reserved(tenant, self._sandboxes.values(), new=False):
                if not memory or sandbox.record != before:
                    await self.frozen.give_up(sandbox)
                try:
                    if not await self.frozen.thaw(sandbox):
                        await self._open(sandbox, sandbox.record.snapshot_id)
                except NoSuchSnapshot:
                    self._sandboxes.pop(sandbox.sandbox_id, None)
                    self._records.remove(sandbox.record)
                    raise sandbox_not_found(sandbox.sandbox_id) from None
            sandbox.lasts(timeout_s)
            sandbox.record = replace(sandbox.record, timeout_s=timeout_s)
            with anyio.CancelScope(shield=True):
                await self._forget(sandbox)
            return True

    async def wake(self, sandbox: Sandbox) -> bool:
        """Resume a sandbox with `auto_resume`. Returns whether it runs. Raises Fault, Unavailable."""
        if sandbox.running:
            return True
        if not sandbox.record.auto_resume or sandbox.dead:
            return False
        tenant = self.accounts_tenant(sandbox.record.tenant)
        await self.resume(tenant, sandbox, min(sandbox.record.timeout_s, tenant.max_timeout_s))
        return True

    def accounts_tenant(self, name: str) -> Tenant:
        """A tenant by its name; one with default quotas where the file of keys no longer has it."""
        return self.accounts.named(name) or Tenant(name)

    # -- snapshots

    async def snapshot(self, tenant: Tenant, sandbox: Sandbox, name: str) -> Image:
        """Snapshot the files; processes go on. Raises Fault, SnapshotFailed, BoxLost."""
        own, tags = parsed(name) if name else ("", ())
        self.images.check_quota(tenant)
        snapshot_id = await self._keep(sandbox, durable=True)
        record, now = sandbox.record, time.time()
        made = Made(env=record.env, workdir=record.workdir, user=record.user)
        image = Image(snapshot_id, tenant.name, record.image, sandbox.sandbox_id, now, record.rooted, made=made)
        return await self.name(image, [f"{own}:{tag}" for tag in tags or ("default",)] if own else [])

    async def name(self, image: Image, names: list[str]) -> Image:
        """Record a snapshot, or a build, under these names; what has lost its last one to it is deleted."""
        image, lost = self.images.tag(image, names)
        for older in lost:
            self.images.remove(older)
            await self.budget.delete(older.snapshot_id)
        return image

    async def _keep(self, sandbox: Sandbox, *, durable: bool) -> str:
        """Snapshot a running sandbox, whose processes are stopped meanwhile."""
        async with sandbox.lock:
            if sandbox.work is None or sandbox.box is None:
                raise Fault(409, f"Sandbox {sandbox.sandbox_id} is paused")
            check_keepable(sandbox)
            await self.budget.have_room()
            with anyio.CancelScope(shield=True):
                async with sandbox.work.held() as busy:
                    snapshot = await sandbox.box.snapshot(durable=durable, busy=busy)
        self.budget.count(snapshot)
        return snapshot.snapshot_id

    async def delete_image(self, tenant: Tenant, template: str) -> None:
        """Raises Fault 404."""
        image = self.images.find(tenant, template)
        if image is None:
            raise Fault(404, f"template {template[:80]!r} not found")
        builds = [] if template == image.snapshot_id else self.images.of_template(tenant, image.made.template_id)
        for one in builds or [image]:
            self.images.remove(one)
            await self.budget.delete(one.snapshot_id)

    async def fork(self, tenant: Tenant, sandbox: Sandbox, count: int, timeout_s: int) -> list[Sandbox | Exception]:
        """Create `count` sandboxes from this one's current state; for each the sandbox or its error."""
        check_timeout(tenant, timeout_s)
        if not 1 <= count <= MAX_FORKS:
            raise Fault(400, f"count must be between 1 and {MAX_FORKS}")
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
                await self.budget.delete(snapshot_id)
        return forks

    async def _fork(self, tenant: Tenant, parent: Sandbox, snapshot_id: str, timeout_s: int) -> Sandbox:
        self._count_create(tenant)
        sandbox = new_fork(tenant, parent.record, timeout_s)
        await self._begin(tenant, sandbox, snapshot_id)
        return sandbox

    def _count_create(self, tenant: Tenant) -> None:
        """Raises Fault 429."""
        wait_s = self.accounts.may_create(tenant)
        if wait_s > 0:
            raise Fault(429, f"more than {tenant.creates_per_s:g} sandboxes per second", retry_after_s=wait_s)

    # -- measure and collect

    async def sample(self, sandbox: Sandbox) -> None:
        """Measure the sandbox now. Raises BoxLost."""
        await measure(sandbox, self.machines.limits_of(sandbox.record.image))

    def _needed(self) -> set[str]:
        return {one.record.snapshot_id for one in self._sandboxes.values()} | self.images.ids()

    async def box_taken(self) -> None:
        """Wait until a box is taken, so that another can be prepared."""
        await self._box_taken.wait()
        self._box_taken = anyio.Event()

    async def aclose(self) -> None:
        """End running sandboxes; paused ones stay on disk."""
        with anyio.CancelScope(shield=True):
            async with anyio.create_task_group() as tasks:
                for sandbox in self.running():
                    self._sandboxes.pop(sandbox.sandbox_id, None)
                    tasks.start_soon(self._stop, sandbox)
                tasks.start_soon(self.frozen.aclose)
            await self.machines.aclose()
            await self.budget.collect()
