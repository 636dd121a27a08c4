"""Where each held session is, on disk: a small file each, so that a killed process can go on. Blocking, and quick."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog

from sandbox_gym.private import make_private, remove_unfinished, write_whole

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session and the snapshot that it goes on from. Times in seconds since the epoch."""

    session_id: str
    created_at: float
    last_used: float
    snapshot_id: str
    base: str | None = None
    whole: bool = False
    """The process ended in order: no call came after the snapshot."""
    root: bool = False
    """Its calls may be root's."""


class SessionRecords:
    """The records in `folder`. File names are digests: ids come from outside."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_private(folder)
        remove_unfinished(folder)

    def _path(self, session_id: str) -> Path:
        return self._path_in(self._folder, session_id)

    @staticmethod
    def _path_in(folder: Path, session_id: str) -> Path:
        return folder / f"{hashlib.sha256(session_id.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}.json"

    def write(self, record: SessionRecord) -> None:
        """Whole or not at all."""
        make_private(self._folder)  # it may have been removed under us
        write_whole(self._path(record.session_id), json.dumps(asdict(record)).encode())

    def write_again(self, record: SessionRecord) -> None:
        """Unless it was removed, as by another process that goes on with the session."""
        if self._path(record.session_id).exists():
            self.write(record)

    def remove(self, session_id: str) -> None:
        self._path(session_id).unlink(missing_ok=True)

    @classmethod
    def read(cls, folder: Path, session_id: str) -> SessionRecord | None:
        """A record in the folder of another process, which may be gone; None where it can't be read."""
        path = cls._path_in(folder, session_id)
        try:
            return SessionRecord(**json.loads(path.read_text()))
        except (OSError, ValueError, TypeError) as error:
            _log.warning("session_record_unreadable", path=str(path), why=str(error))
            return None

    def load(self) -> Iterator[SessionRecord]:
        """Every record; one that can't be read is logged and left out."""
        for path in self._folder.glob("*.json"):
            try:
                yield SessionRecord(**json.loads(path.read_text()))
            except (ValueError, TypeError) as error:
                _log.warning("session_record_unreadable", path=str(path), why=str(error))
