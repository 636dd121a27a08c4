"""The reaper: removes orphans, what dead owners left behind, now and every minute; never what a living owner has.

Owns order, deadlines and bounds; each source (a provider, the state folder, a snapshot store) finds and removes its
own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import anyio
import structlog

from sandbox_gym.faults import log_failure

EVERY_S = 60.0
LIST_S = 30.0
REMOVE_S = 60.0
SWEEP_S = 600.0
MAX_ORPHANS = 10_000
"""Of one source in one sweep; the rest is the next sweep's."""
_AT_ONCE = 8
_FIRST = ("process", "container", "mount", "cgroup")
_LAST = ("scratch", "lock")
"""The order of removal: processes before the mounts that they use, mounts before the folders that hold them."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Orphan:
    """One thing whose owner is gone. `name` is how its source finds it; `why` says how we know."""

    kind: str
    name: str
    owner: str
    why: str


class OrphanSource(Protocol):
    """Something that leaves things outside this process. Both raise OSError or SandboxGymError, and touch only what a
    dead owner left; removing what is gone already is no error."""

    async def orphans(self) -> Sequence[Orphan]: ...

    async def remove(self, orphan: Orphan) -> None: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be looked at (no orphan) or removed, and why."""

    source: str
    why: str
    orphan: Orphan | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep found, removed and could not."""

    found: tuple[Orphan, ...]
    removed: tuple[Orphan, ...]
    failures: tuple[Failure, ...]


class Reaper:
    """Sweeps its sources by name. `on_sweep` is called before each sweep of `keep_sweeping`: the lease's renewal."""

    def __init__(self, sources: Mapping[str, OrphanSource], on_sweep: Callable[[], None] | None = None) -> None:
        self._sources = sources
        self._on_sweep = on_sweep

    async def keep_sweeping(self, every_s: float = EVERY_S) -> None:
        """Sweep now and every `every_s` seconds, until cancelled; a sweep that fails is not the last."""
        while True:
            if self._on_sweep is not None:
                try:
                    self._on_sweep()
                except Exception as error:
                    log_failure("lease_not_renewed", error)
            try:
                await self.sweep()
            except Exception as error:
                log_failure("sweep_failed", error)
            await anyio.sleep(every_s)

    async def sweep(self, *, dry_run: bool = False) -> Swept:
        """Find orphans and, unless `dry_run`, remove them. Failures are in the answer and the log, never raised."""
        removed: list[Orphan] = []
        failures: list[Failure] = []
        found: list[tuple[str, Orphan]] = []
        with anyio.move_on_after(SWEEP_S) as scope:
            found += await self._list_all(failures)
            if not dry_run:
                for group in _in_order(found):
                    await self._remove_all(group, removed, failures)
        if scope.cancelled_caught:
            failures.append(Failure("reaper", f"not done within {SWEEP_S:.0f} s; the next sweep goes on"))
        for failure in failures:
            _log.warning("orphan_removal_failed", source=failure.source, orphan=_words(failure.orphan), why=failure.why)
        if removed:
            _log.info("orphans_removed", count=len(removed), owners=len({orphan.owner for orphan in removed}))
        return Swept(tuple(orphan for _, orphan in found), tuple(removed), tuple(failures))

    async def _list_all(self, failures: list[Failure]) -> list[tuple[str, Orphan]]:
        """Of every source, one after the other, as each tries the locks of owners. Sources of one engine, as of its
        containers and its snapshots, tell once what is wrong with it."""
        found: list[tuple[str, Orphan]] = []
        whys: dict[str, str] = {}
        for name in self._sources:
            failed: list[Failure] = []
            found += [(name, orphan) for orphan in await self._list(name, failed)]
            for failure in failed:
                if whys.get(name.partition(" ")[0]) != failure.why:
                    failures.append(failure)
                whys[name] = failure.why
        return found

    async def _list(self, name: str, failures: list[Failure]) -> Sequence[Orphan]:
        try:
            with anyio.fail_after(LIST_S):
                return (await self._sources[name].orphans())[:MAX_ORPHANS]
        except TimeoutError:
            failures.append(Failure(name, f"no answer within {LIST_S:.0f} s"))
        except Exception as error:  # also a shortage of threads or memory
            failures.append(Failure(name, str(error)[:500] or type(error).__name__))
        return ()

    async def _remove_all(
        self, group: Sequence[tuple[str, Orphan]], removed: list[Orphan], failures: list[Failure]
    ) -> None:
        """Things of one kind: mounts one after the other, for one may lie on another; the rest a few at once."""
        slots = anyio.Semaphore(1 if group[0][1].kind == "mount" else _AT_ONCE)

        async def remove(name: str, orphan: Orphan) -> None:
            async with slots:
                why = await self._remove(name, orphan)
            if why:
                failures.append(Failure(name, why, orphan))
            else:
                removed.append(orphan)

        async with anyio.create_task_group() as tasks:
            for name, orphan in group:
                tasks.start_soon(remove, name, orphan)

    async def _remove(self, name: str, orphan: Orphan) -> str:
        """Why it could not be removed; empty when it was."""
        try:
            with anyio.fail_after(REMOVE_S):
                await self._sources[name].remove(orphan)
        except TimeoutError:
            return f"not within {REMOVE_S:.0f} s"
        except Exception as error:
            return str(error)[:500] or type(error).__name__
        return ""


def _words(orphan: Orphan | None) -> str:
    return f"{orphan.kind} {orphan.name}" if orphan else ""


def _in_order(found: Sequence[tuple[str, Orphan]]) -> list[list[tuple[str, Orphan]]]:
    """By kind, users before what they use; a source's own order is kept within a kind."""
    groups: dict[str, list[tuple[str, Orphan]]] = defaultdict(list)
    for name, orphan in found:
        groups[orphan.kind].append((name, orphan))
    middle = [kind for kind in groups if kind not in _FIRST + _LAST]
    return [groups[kind] for kind in (*_FIRST, *middle, *_LAST) if kind in groups]


@asynccontextmanager
async def reaping(reaper: Reaper) -> AsyncIterator[None]:
    """Sweep in the background for as long as the body runs. The body's error comes out as it is, in no group."""
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reaper.keep_sweeping)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) != 1:
            raise
        raise group.exceptions[0] from None
