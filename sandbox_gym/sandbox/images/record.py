"""Which images of an engine were pulled here, on disk: no label says so, for a label would make another image.

Several processes with one state folder share a record, each change under a lock. An image that is not in it is never
removed.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog

from sandbox_gym.private import make_private, write_whole

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PulledImage:
    """`name`: as rows have it. `reference`: by which the engine has it, which differs where a mirror gave a digest.
    Times are epoch seconds."""

    name: str
    reference: str
    image_id: str
    layers: tuple[tuple[str, int], ...]
    pulled_at: float
    last_used: float


def disk_bytes(images: Mapping[str, PulledImage]) -> int:
    """What images take together: shared layers count once."""
    return sum({key: size for one in images.values() for key, size in one.layers}.values())


class ImageRecord:
    """The pulled images of one engine, by name."""

    def __init__(self, path: Path | None) -> None:
        """`path`: None for a record that ends with the process."""
        self._path = path
        self._known: dict[str, PulledImage] = {}
        self._lock = threading.Lock()

    def all(self) -> dict[str, PulledImage]:
        """Blocking. A record that can't be read is an empty one: its images are then nobody's to remove."""
        with self._locked():
            return self._load()

    def change(self, how: Callable[[dict[str, PulledImage]], None]) -> None:
        """Have `how` change the record in place. Blocking."""
        with self._locked():
            images = self._load()
            before = dict(images)
            how(images)
            if images != before:
                self._store(images)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self._path is None:
            with self._lock:
                yield
            return
        import fcntl  # not on Windows

        make_private(self._path.parent)
        descriptor = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _load(self) -> dict[str, PulledImage]:
        if self._path is None:
            return dict(self._known)
        try:
            rows = json.loads(self._path.read_bytes())
            return {row["name"]: _read(row) for row in rows}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError) as error:
            _log.warning("image_record_unreadable", path=str(self._path), why=str(error)[:300])
            return {}

    def _store(self, images: Mapping[str, PulledImage]) -> None:
        self._known = dict(images)
        if self._path is not None:
            write_whole(self._path, json.dumps([asdict(one) for one in images.values()]).encode())


def _read(row: Mapping[str, object]) -> PulledImage:
    layers = row["layers"]
    if not isinstance(layers, list):
        raise TypeError("layers are a list")
    pairs = tuple((str(key), int(size)) for key, size in layers)
    times = (float(str(row["pulled_at"])), float(str(row["last_used"])))
    return PulledImage(str(row["name"]), str(row["reference"]), str(row["image_id"]), pairs, *times)
