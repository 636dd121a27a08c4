"""Layers and records of local snapshots on disk. Blocking; callers are in worker threads.

`layers/<sha256>` holds a layer's files, `records/<id>.json` a snapshot: its layers, topmost first, and what the shell
knew. A record is written last and whole, so what is listed can be restored.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import asdict, dataclass
from pathlib import Path

from sandbox_gym.private import make_private, remove_unfinished, write_together
from sandbox_gym.sandbox.local.files import copy_tree, give_tree, remove_tree
from sandbox_gym.sandbox.snapshots import FORGOTTEN_S, NoSuchSnapshot, Snapshot, SnapshotFailed

MAX_DEPTH = 256


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer holds: its digest, the disk it takes, and how many entries."""

    digest: str
    size_bytes: int
    files: int


@dataclass(frozen=True, slots=True)
class Record:
    """A snapshot and the digests of its layers, topmost first."""

    snapshot: Snapshot
    layers: tuple[str, ...]


def measure(folder: Path) -> Layer:
    """The digest of everything in `folder`. Raises SnapshotFailed when it nests deeper than any honest work does."""
    digest = hashlib.sha256()
    size = files = 0
    for path, entry in _walk(folder):
        info = entry.stat(follow_symlinks=False)
        digest.update(b"%d %d %s\0" % (info.st_mode, info.st_rdev, path))
        files += 1
        size += info.st_blocks * 512
        if stat.S_ISREG(info.st_mode):
            with open(entry.path, "rb", opener=_no_follow) as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        elif stat.S_ISLNK(info.st_mode):
            digest.update(os.readlink(entry.path))
        elif stat.S_ISDIR(info.st_mode):
            digest.update(_opaque(entry.path))
    return Layer(digest.hexdigest(), size, files)


def _walk(folder: Path) -> Iterator[tuple[bytes, os.DirEntry[bytes]]]:
    waiting = [(os.fsencode(folder), b"", 0)]
    while waiting:
        where, prefix, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise SnapshotFailed(f"the work folder nests over {MAX_DEPTH} folders deep; remove the deepest")
        with os.scandir(where) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            path = prefix + b"/" + entry.name
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, path, depth + 1))


def _no_follow(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOATIME if os.geteuid() == 0 else flags)


def _opaque(path: bytes) -> bytes:
    """Overlay's mark of a folder that hides the ones below it."""
    try:
        return os.getxattr(path, b"trusted.overlay.opaque", follow_symlinks=False)
    except OSError:
        return b""


class Store:
    """The snapshots below `root`, a folder of this process alone; the index of them is held in memory."""

    def __init__(self, root: Path) -> None:
        self._layers, self._records, self._globals = root / "layers", root / "records", root / "globals"
        for folder in (self._layers, self._records, self._globals):
            make_private(folder)
            remove_unfinished(folder)
        for unfinished in self._layers.glob(".new-*"):
            remove_tree(unfinished)
        self._index = {path.stem: _parse(path) for path in self._records.glob("*.json")}
        for blob in self._globals.glob("*.pickle"):
            if blob.stem not in self._index:
                blob.unlink()
        self._sizes = {path.name: _on_disk(path) for path in self._layers.iterdir()}
        self._wanted_at = dict.fromkeys(self._sizes, 0.0)
        self._lock = threading.Lock()

    def layer_path(self, digest: str) -> Path:
        return self._layers / digest[:32]

    def seal(self, cut: Path, *, owner: int = -1) -> Layer:
        """Keep what `cut` holds, as `owner`'s; -1: as it is. Equal content is kept once. Raises SnapshotFailed or
        OSError."""
        layer = measure(cut)
        path = self.layer_path(layer.digest)
        with self._lock:
            self._wanted_at[path.name] = time.monotonic()
            kept = path.name in self._sizes and path.exists()  # the state folder may have been emptied meanwhile
        if not kept:
            make_private(self._layers)
            new = self._layers / f".new-{secrets.token_hex(6)}"
            try:
                copy_tree(cut, new)
                if owner >= 0:
                    give_tree(new, owner)
                if not path.exists():
                    new.rename(path)
            finally:
                remove_tree(new)
            self._sizes[path.name] = (layer.size_bytes, layer.files)
        return layer

    def layer(self, digest: str) -> Layer:
        """A layer that is kept. Raises KeyError."""
        return Layer(digest, *self._sizes[digest[:32]])

    def write(self, record: Record, globals_blob: bytes) -> None:
        """Keep a snapshot. Once this returns it survives a crash of this process."""
        snapshot_id = record.snapshot.snapshot_id
        for folder in (self._globals, self._records):
            make_private(folder)
        text = json.dumps({"snapshot": asdict(record.snapshot), "layers": record.layers})
        files = {self._globals / f"{snapshot_id}.pickle": globals_blob} if globals_blob else {}
        write_together({**files, self._records / f"{snapshot_id}.json": text.encode("utf-8")})
        self._index[snapshot_id] = record

    def adopt(self, root: Path, snapshot_id: str) -> None:
        """Copy a snapshot of the store in `root`, whose owner is dead. Idempotent. Raises NoSuchSnapshot."""
        if snapshot_id in self._index:
            return
        try:
            record = _parse(root / "records" / f"{snapshot_id}.json")
            for digest in record.layers:
                self._adopt_layer(root / "layers" / digest[:32], digest)
            blob = root / "globals" / f"{snapshot_id}.pickle"
            self.write(record, blob.read_bytes() if blob.exists() else b"")
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise NoSuchSnapshot(f"snapshot {snapshot_id[:40]!r} in {root}: {error}") from error

    def _adopt_layer(self, source: Path, digest: str) -> None:
        path = self.layer_path(digest)
        with self._lock:
            self._wanted_at[path.name] = time.monotonic()
            if path.name in self._sizes and path.exists():
                return
        make_private(self._layers)
        new = self._layers / f".new-{secrets.token_hex(6)}"
        try:
            copy_tree(source, new)
            if not path.exists():
                new.rename(path)
        finally:
            remove_tree(new)
        self._sizes[path.name] = _on_disk(path)

    def read(self, snapshot_id: str) -> Record:
        """Raises NoSuchSnapshot."""
        record = self._index.get(snapshot_id)
        if record is None:
            raise NoSuchSnapshot(f"no snapshot {snapshot_id[:40]!r}")
        if not all(self.layer_path(digest).exists() for digest in record.layers):
            self.delete(snapshot_id)
            raise NoSuchSnapshot(f"the files of snapshot {snapshot_id[:40]!r} are gone from {self._layers}")
        return record

    def read_globals(self, snapshot_id: str) -> bytes:
        """The pickled globals, which are read inside sandboxes only; empty where none were kept."""
        try:
            return (self._globals / f"{self.read(snapshot_id).snapshot.snapshot_id}.pickle").read_bytes()
        except FileNotFoundError:
            return b""

    def records(self) -> list[Record]:
        """Every snapshot, oldest first."""
        return sorted(self._index.values(), key=lambda record: record.snapshot.created_at)

    def delete(self, snapshot_id: str) -> None:
        """Forget a snapshot; its layers go at the next collection. Idempotent."""
        if self._index.pop(snapshot_id, None) is not None:
            (self._records / f"{snapshot_id}.json").unlink(missing_ok=True)
            (self._globals / f"{snapshot_id}.pickle").unlink(missing_ok=True)

    def collect(self, *, budget_bytes: int, pinned: Set[str], in_use: Set[str], before: float) -> int:
        """Layers of neither a snapshot nor `in_use` go, then the oldest snapshots until the rest fit and are not
        forgotten; bytes left.

        A layer that was sealed after `before` (monotonic) stays: its snapshot is about to be written.
        """
        users = Counter(digest[:32] for record in self._index.values() for digest in record.layers)
        users.update(digest[:32] for digest in in_use)
        for name in [name for name in self._sizes if not users[name]]:
            self._remove(name, before)
        forgotten = time.time() - FORGOTTEN_S
        for record in self.records():
            if self.used_bytes() <= budget_bytes and record.snapshot.created_at > forgotten:
                break
            if record.snapshot.snapshot_id in pinned:
                continue
            self.delete(record.snapshot.snapshot_id)
            for digest in record.layers:
                users[digest[:32]] -= 1
                if not users[digest[:32]]:
                    self._remove(digest[:32], before)
        return self.used_bytes()

    def _remove(self, name: str, before: float) -> None:
        with self._lock:
            if self._wanted_at[name] >= before:
                return
            remove_tree(self._layers / name)
            del self._sizes[name], self._wanted_at[name]

    def used_bytes(self) -> int:
        """Disk that all layers take."""
        return sum(size for size, _files in self._sizes.values())


def _parse(path: Path) -> Record:
    document = json.loads(path.read_bytes())
    return Record(Snapshot(**document["snapshot"]), tuple(document["layers"]))


def _on_disk(folder: Path) -> tuple[int, int]:
    """Bytes of disk, and how many entries."""
    blocks = [entry.stat(follow_symlinks=False).st_blocks for _path, entry in _walk(folder)]
    return sum(blocks) * 512, len(blocks)
