"""Snapshots of sessions at E2B: which of the account's are ours, and what is known of each. Opens no session.

The service keeps the files; `folder` on this machine keeps a record of each snapshot, and pickled globals, which are
read inside sandboxes only. Names at the service say which store made them, so that one without a record is found.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import structlog

from sandbox_gym.errors import BoxLost, SandboxGymError
from sandbox_gym.private import make_private, write_together, write_whole
from sandbox_gym.sandbox.e2b.errors import watched
from sandbox_gym.sandbox.e2b.machine import E2bMachine
from sandbox_gym.sandbox.snapshots import FORGOTTEN_S, NoSuchSnapshot, Saving, Snapshot, SnapshotFailed

if TYPE_CHECKING:
    from e2b import AsyncSandbox, SnapshotInfo
    from e2b.connection_config import ApiParams

CALL_S: Final = 60.0
KEEP_S: Final = 120.0
"""A sandbox's files are copied meanwhile."""
SETTLED_S: Final = 600.0
PAGE: Final = 100
MAX_LISTED: Final = 20_000
_REFUSED: Final = (400, 409)
"""How a service says that it keeps files only together with memory."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Record:
    """A snapshot and where it is. `memory`: it holds processes too, which must go before it is used."""

    snapshot: Snapshot
    service_id: str
    memory: bool = False


class E2bSnapshots:
    """One state folder's, on one account."""

    def __init__(self, sdk: type[AsyncSandbox], api: ApiParams, folder: Path) -> None:
        self._sdk, self._api, self._folder = sdk, api, folder
        make_private(folder)
        self.keeper = _keeper(folder)
        self._prefix = f"sandbox-gym-{self.keeper}-"
        self._records = {one.snapshot.snapshot_id: one for one in self._load()}
        self._making: set[str] = set()
        self.used = bool(self._records)
        """Whether any session was opened here: else the account is not asked for snapshots to collect."""

    def records(self) -> list[Record]:
        """Those on record, oldest first."""
        return sorted(self._records.values(), key=lambda one: one.snapshot.created_at)

    def record(self, snapshot_id: str) -> Record:
        """Raises NoSuchSnapshot."""
        try:
            return self._records[snapshot_id]
        except KeyError:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id[:40]!r}") from None

    def read_globals(self, snapshot_id: str) -> bytes:
        """The pickled globals; empty where none were kept. Blocking."""
        try:
            return (self._folder / f"{snapshot_id}.pickle").read_bytes()
        except FileNotFoundError:
            return b""

    @contextmanager
    def _being_made(self, snapshot_id: str) -> Iterator[None]:
        """While the service has it and no record is written yet."""
        name = self._prefix + snapshot_id
        self._making.add(name)
        try:
            yield
        finally:
            self._making.discard(name)

    async def save(self, machine: E2bMachine, saving: Saving) -> Snapshot:
        """Always durable: the service's. Raises SnapshotFailed, and then the session lives on; BoxLost."""
        snapshot = saving.snapshot
        with self._being_made(snapshot.snapshot_id):
            try:
                service_id, memory = await self._keep(machine.remote.sandbox, snapshot.snapshot_id)
            except SandboxGymError as error:
                if machine.lost:
                    raise BoxLost(f"e2b sandbox {machine.box_id}: {error}") from error
                raise SnapshotFailed(f"the service keeps no snapshot: {error}") from error
            # a name of the content; the service tells no other
            digest = hashlib.sha256(service_id.encode()).hexdigest()
            snapshot = replace(snapshot, digest=digest)
            await anyio.to_thread.run_sync(self._add, Record(snapshot, service_id, memory), saving.globals_blob)
        return snapshot

    async def _keep(self, sandbox: AsyncSandbox, snapshot_id: str) -> tuple[str, bool]:
        """(the service's id, whether it holds memory too) of a sandbox's files as they are. Raises BoxLost,
        ProviderDown, ConfigurationError."""
        from e2b.exceptions import SandboxException

        name = self._prefix + snapshot_id
        async with watched("keeping a snapshot", KEEP_S):
            try:
                made = await sandbox.create_snapshot(name, mode="filesystem", request_timeout=KEEP_S)
                return made.snapshot_id, False
            except SandboxException as error:
                if error.status_code not in _REFUSED:
                    raise
                made = await sandbox.create_snapshot(name, request_timeout=KEEP_S)
                return made.snapshot_id, True

    def _add(self, record: Record, globals_blob: bytes) -> None:
        """Once this returns the snapshot survives a crash of this process. Blocking."""
        snapshot_id = record.snapshot.snapshot_id
        files = {self._folder / f"{snapshot_id}.pickle": globals_blob} if globals_blob else {}
        write_together({**files, self._folder / f"{snapshot_id}.json": json.dumps(asdict(record)).encode()})
        self._records[snapshot_id] = record

    async def find(self, snapshot_id: str) -> Snapshot:
        return self.record(snapshot_id).snapshot

    async def all(self) -> Sequence[Snapshot]:
        return [one.snapshot for one in self.records()]

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        """Sizes are what the sandboxes said when they were kept."""
        if not self.used:
            return 0
        await self.sweep()
        used = sum(one.snapshot.size_bytes for one in self.records())
        forgotten = time.time() - FORGOTTEN_S
        for one in self.records():
            if used <= budget_bytes and one.snapshot.created_at > forgotten:
                break
            if one.snapshot.snapshot_id not in pinned:
                await self.delete(one.snapshot.snapshot_id)
                used -= one.snapshot.size_bytes
        return used

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """The service keeps each snapshot under the name of the store that made it."""
        raise NoSuchSnapshot(f"snapshot {snapshot_id[:40]!r} of {folder}: those of a service are not taken over")

    async def forget(self, snapshot_id: str) -> None:
        """A snapshot that the service has no longer."""
        with contextlib.suppress(SandboxGymError):  # its record is gone, which is what counts
            await self.delete(snapshot_id)

    async def delete(self, snapshot_id: str) -> None:
        """Forget it, and have the service forget it; where that can't be asked, `sweep` asks later. Raises BoxLost,
        ProviderDown, ConfigurationError."""
        record = self._records.pop(snapshot_id, None)
        if record is not None:
            for suffix in (".json", ".pickle"):
                (self._folder / f"{snapshot_id}{suffix}").unlink(missing_ok=True)
            await self._remove(record.service_id)

    async def _remove(self, service_id: str) -> None:
        async with watched("deleting a snapshot", CALL_S):
            await self._sdk.delete_snapshot(service_id, **self._api)

    async def sweep(self) -> None:
        """Have the service and the records agree: what only one of them has goes. A service may be slow to list what it
        has just made."""
        listed = await self.listed()
        for service_id, name in listed.items():
            known = any(one.service_id == service_id for one in self._records.values())
            if not known and name not in self._making:
                _log.info("e2b_snapshot_without_record", snapshot=service_id)
                await self._remove(service_id)
        for one in self.records():
            if one.service_id not in listed and one.snapshot.created_at < time.time() - SETTLED_S:
                _log.warning("e2b_snapshot_gone", snapshot=one.snapshot.snapshot_id)
                await self.delete(one.snapshot.snapshot_id)

    async def listed(self) -> Mapping[str, str]:
        """Name by service id of all that carry our keeper's name. Raises BoxLost when there are too many to list."""
        found: dict[str, str] = {}
        pages = self._sdk.list_snapshots(limit=PAGE, **self._api)
        seen = 0
        while pages.has_next:
            async with watched("listing snapshots", CALL_S):
                items: list[SnapshotInfo] = await pages.next_items()
            seen += len(items)
            if seen > MAX_LISTED:
                raise BoxLost(f"the account holds over {MAX_LISTED} snapshots")
            found.update({one.snapshot_id: name for one in items if (name := self._own_name(one.names))})
        return found

    def _own_name(self, names: list[str]) -> str:
        """Ours of a snapshot's names; a service may put a team before it and a tag behind it."""
        pattern = re.compile(rf"(?:.*/)?({re.escape(self._prefix)}[0-9a-f]+)(?::.*)?")
        return next((match[1] for name in names if (match := pattern.fullmatch(name))), "")

    def _load(self) -> list[Record]:
        found = []
        for path in self._folder.glob("*.json"):
            try:
                document = json.loads(path.read_text())
                found.append(Record(**{**document, "snapshot": Snapshot(**document["snapshot"])}))
            except (ValueError, TypeError, KeyError) as error:
                _log.warning("snapshot_record_unreadable", path=str(path), why=str(error))
        return found


def _keeper(folder: Path) -> str:
    """A random name of this state folder: machines may share an account."""
    path = folder / "keeper"
    if not path.exists():
        write_whole(path, secrets.token_hex(8).encode())
    return path.read_text().strip()
