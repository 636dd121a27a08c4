"""Services: programs that stay in boxes and answer requests, one box for each, started at the first request.

Owns which request waits for which answer and what a lost box costs; knows neither what is asked nor why. A request
whose box is lost raises BoxLost, and the next one starts another box.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import anyio
import anyio.abc
import structlog

from sandbox_gym.contract import Outcome, Program, Query, Run, Service, Status
from sandbox_gym.errors import BoxLost, LossEvidence, ProviderDown, ToolchainMissing
from sandbox_gym.faults import as_provider_down, log_failure
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Provider, spec_of_runs
from sandbox_gym.sandbox.blame import NotTheProgram, of_worker
from sandbox_gym.sandbox.channel.bundle import source
from sandbox_gym.sandbox.channel.contract import AttachedRun, RunEnded
from sandbox_gym.sandbox.channel.outcomes import quantity, starved
from sandbox_gym.sandbox.pool.admission import Admission
from sandbox_gym.sandbox.sandbox import Sandbox

START_S: Final = 120.0
"""How long a service may take to import what it needs; a cold disk and a busy machine take their time."""
GRACE_S: Final = 15.0
"""Beyond a request's wall cap before the service itself counts as frozen."""
BASE_BYTES: Final = 512 * MIB
KILLED: Final = "killed"
"""An answer's status where a signal ended the worker; its detail is the signal's number."""
SIGNAL_UNKNOWN: Final = 255
LIFE_S: Final = 7 * 24 * 3600.0
_log = structlog.get_logger(__name__)


@dataclass(slots=True, eq=False)
class _Waiter:
    answered: anyio.Event = field(default_factory=anyio.Event)
    outcome: Outcome | None = None
    killed_by: int = 0
    """The signal that ended the worker at its request."""
    lost: BoxLost | None = None


class _Live:
    """A service in its box."""

    def __init__(self, box: Sandbox, run: AttachedRun) -> None:
        self.box, self.run = box, run
        self.waiters: dict[int, _Waiter] = {}
        self.gone: BoxLost | None = None
        self.oom_kills = 0
        """Those of its box that a request has answered for."""
        self._reader = frames.FrameReader(max_header=1 << 14)

    async def frame(self, within_s: float) -> tuple[Mapping[str, object], bytes]:
        while True:
            try:
                found: tuple[Mapping[str, object], bytes] | None = self._reader.next()
            except frames.BadFrame as error:
                raise BoxLost(f"{self.box.box_id}: its service answered nonsense ({error})") from error
            if found is not None:
                return found
            self._reader.feed(await self.run.receive(within_s))

    async def listen(self) -> None:
        """Pass answers on until the box is lost; then every waiting request fails."""
        try:
            while True:
                header, body = await self.frame(LIFE_S)
                number = header.get("id")
                waiter = self.waiters.pop(number, None) if isinstance(number, int) else None
                if waiter is not None:
                    waiter.killed_by = _signal(header)
                    waiter.outcome = _outcome(header, body, self.box.box_id)
                    waiter.answered.set()
        except BoxLost as error:
            self._fail(error)
        except Exception as error:  # a box's bytes, or a fault of ours: it costs this service, not the server
            log_failure("service_listener_failed", error, box=self.box.box_id)
            self._fail(BoxLost(f"{self.box.box_id}: its answers can't be read ({type(error).__name__})"))
        finally:
            self._fail(BoxLost(f"{self.box.box_id}: the service was stopped"))

    def _fail(self, error: BoxLost) -> None:
        self.gone = self.gone or error
        for waiter in self.waiters.values():
            waiter.lost = self.gone
            waiter.answered.set()
        self.waiters.clear()


class Services:
    """Use `serving` to make one."""

    def __init__(
        self,
        provider: Provider,
        tasks: anyio.abc.TaskGroup,
        *,
        workers: int,
        queue_size: int,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._provider, self._tasks, self._workers = provider, tasks, workers
        self._admission = Admission(workers, queue_size, weights)
        self._live: dict[str, _Live] = {}
        self._starting: dict[str, anyio.Lock] = {}
        self._next_id = 0
        self.asked = self.started = self.lost = 0

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        waiting = {"waiting": self._admission.waiting, "at_work": self._admission.held, "live": len(self._live)}
        return {"asked": self.asked, "started": self.started, "lost": self.lost, **waiting}

    def by_tenant(self) -> dict[str, int]:
        """How many requests wait, of each tenant that has any waiting."""
        return self._admission.by_tenant()

    async def ask(self, query: Query, *, tenant: str = "") -> tuple[Outcome, Sandbox, float]:
        """(what became of the request, the service's box, seconds that it waited for its turn).

        Raises PoolFull, ProviderDown, ToolchainMissing, and BoxLost when the service was lost meanwhile.
        """
        asked = time.monotonic()
        async with self._admission.admitted(tenant):
            live = await self._get(query.service)
            queued_s = time.monotonic() - asked
            self.asked += 1
            return await self._exchange(live, query), live.box, queued_s

    async def _exchange(self, live: _Live, query: Query) -> Outcome:
        self._next_id += 1
        number, waiter = self._next_id, _Waiter()
        live.waiters[number] = waiter
        limits = query.limits
        header = {"op": "ask", "id": number, "cpu_s": limits.cpu_time_s, "wall_s": limits.wall_time_s}
        try:
            await live.run.send(frames.pack(header, query.request))
            with anyio.fail_after(limits.wall_time_s + GRACE_S):
                await waiter.answered.wait()
        except TimeoutError:
            live.gone = BoxLost(f"{live.box.box_id}: its service does not answer")
            raise live.gone from None
        except BoxLost as error:
            live.gone = live.gone or error
            raise
        finally:
            if live.waiters.pop(number, None) is not None and live.gone is None:
                with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                    await live.run.send(frames.pack({"op": "drop", "id": number}))
        if waiter.lost is not None:
            raise BoxLost(str(waiter.lost))
        assert waiter.outcome is not None
        return await self._blamed(live, waiter) if waiter.killed_by else waiter.outcome

    async def _blamed(self, live: _Live, waiter: _Waiter) -> Outcome:
        """What a worker's end by a signal says of its request. Raises BoxLost where it says nothing."""
        assert waiter.outcome is not None
        evidence = LossEvidence(live.oom_kills, detail="the sandbox's counters could not be read in time")
        with anyio.move_on_after(GRACE_S):
            evidence = await live.box.evidence()
        new = replace(evidence, oom_kills=max(0, evidence.oom_kills - live.oom_kills))
        live.oom_kills = evidence.oom_kills
        try:
            status, detail = of_worker(waiter.killed_by, new)
        except NotTheProgram as error:
            _log.warning("service_worker_killed", box=live.box.box_id, why=str(error))
            raise
        return replace(waiter.outcome, status=status, detail=f"{waiter.outcome.detail} {detail}".strip())

    async def _get(self, service: Service) -> _Live:
        """The service, started unless it lives. Many requests that come at once start it once."""
        async with self._starting.setdefault(service.name, anyio.Lock()):
            live = self._live.get(service.name)
            if live is not None and live.gone is None:
                return live
            if live is not None:
                self.lost += 1
                _log.warning("service_lost", service=service.name, why=str(live.gone))
                del self._live[service.name]
                await _closed(live.box)
            live = self._live[service.name] = await self._start(service)
            self._tasks.start_soon(live.listen)
            return live

    async def _start(self, service: Service) -> _Live:
        with as_provider_down(f"service {service.name} can't be started"):
            box = await self._provider.create(spec_of_runs(service.image))
        try:
            live = _Live(box, await box.attach(_run_of(service, self._workers)))
            with anyio.fail_after(START_S):
                header, _body = await live.frame(START_S)
            if header.get("op") != "ready":
                raise BoxLost(f"{box.box_id}: its service did not get ready")
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await _closed(box)
            if isinstance(error, RunEnded):
                raise _not_started(service, error) from error
            if isinstance(error, TimeoutError):
                raise ProviderDown(f"service {service.name} was not ready within {START_S:.0f} s") from None
            raise
        self.started += 1
        return live

    async def aclose(self) -> None:
        """End every service and its box."""
        with anyio.CancelScope(shield=True):
            for live in self._live.values():
                await _closed(live.box)
            self._live.clear()


async def _closed(box: Sandbox) -> None:
    """A box that can't be closed does not hold up the next one; the reaper removes what it leaves."""
    try:
        await box.aclose()
    except Exception as error:
        log_failure("box_not_closed", error, box=box.box_id)


def _not_started(service: Service, error: RunEnded) -> ProviderDown | ToolchainMissing:
    last = error.stderr.rpartition("\n")[2]
    if "ModuleNotFoundError" in last:
        remedy = service.remedy or "install it where the provider's interpreter finds it"
        return ToolchainMissing(f"service {service.name} can't start in its sandbox: {last}; {remedy}")
    return ProviderDown(f"service {service.name} did not start: {error}; {last}")


def service_modules() -> Mapping[str, bytes]:
    """What lies beside a service's program: modules of the guest, without packages."""
    names = ("services.service_worker", "protocol.frames", "forks", "runs.starvation")
    return {f"{name.rpartition('.')[2]}.py": source(name).encode() for name in names}


def _run_of(service: Service, workers: int) -> Run:
    env = {"WORKERS": str(workers), "WORKER_MEMORY_BYTES": str(service.worker_memory_bytes)}
    memory_bytes = BASE_BYTES + workers * service.worker_memory_bytes
    limits = Limits(
        cpu_time_s=LIFE_S,
        wall_time_s=LIFE_S,
        memory_bytes=memory_bytes,
        processes=workers + 16,
        cpus=float(max(1, workers)),
    )
    return Run(service.name, Program("fork", {**service.files, **service_modules()}, env=env), limits=limits)


def _outcome(header: Mapping[str, object], body: bytes, box_id: str) -> Outcome:
    """An answer's frame, every field checked: a service is not trusted. Raises BoxLost."""
    try:
        killed, wall_s = header["status"] == KILLED, quantity(header["wall_s"])
        detail = "" if killed else str(header["detail"])[:200]
        return Outcome(
            status=Status.RUNTIME_ERROR if killed else Status(str(header["status"])),
            stdout=body,
            cpu_time_s=quantity(header["cpu_s"]),
            wall_time_s=wall_s,
            starved_s=starved(header.get("starved_s"), wall_s),
            detail=f"{str(header['phase'])[:40]} {detail}".strip(),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BoxLost(f"{box_id}: its service sent a malformed answer ({error})") from error


def _signal(header: Mapping[str, object]) -> int:
    """The signal that ended a worker; 0 if none did."""
    detail = str(header.get("detail"))
    known = header.get("status") == KILLED and detail.isdecimal() and len(detail) < 4
    return int(detail) if known else SIGNAL_UNKNOWN if header.get("status") == KILLED else 0


@asynccontextmanager
async def serving(
    provider: Provider, *, workers: int = 0, queue_size: int, weights: Mapping[str, float] | None = None
) -> AsyncIterator[Services]:
    """Services on a provider, ended with the context. `workers`: requests at once; 0: one for each CPU."""
    async with anyio.create_task_group() as tasks:
        services = Services(
            provider, tasks, workers=workers or os.cpu_count() or 1, queue_size=queue_size, weights=weights
        )
        try:
            yield services
        finally:
            tasks.cancel_scope.cancel()
            await services.aclose()
