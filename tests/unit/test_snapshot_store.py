"""Layers and records of local snapshots: what the state folder lost meanwhile is no snapshot, and may be made again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sandbox_gym.sandbox.local.sessions.store import Record, Store
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, Snapshot


def cut(folder: Path) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    return folder


def keep(store: Store, files: Path, snapshot_id: str) -> Record:
    layer = store.seal(files)
    record = Record(Snapshot(snapshot_id, None, layer.digest, layer.size_bytes, layer.files, 0.0), (layer.digest,))
    store.write(record, b"")
    return record


@pytest.mark.parametrize("lost", ["layers", "."])
def test_a_snapshot_whose_files_are_gone_is_none(tmp_path: Path, lost: str) -> None:
    root = tmp_path / "store"
    store, files = Store(root), cut(tmp_path / "cut")
    kept = keep(store, files, "1")
    assert store.read("1") == kept
    shutil.rmtree(root / lost)
    with pytest.raises(NoSuchSnapshot, match="gone"):
        store.read("1")
    assert store.records() == []
    again = keep(store, files, "2")
    assert store.read("2") == again
    assert (store.layer_path(again.layers[0]) / "a.txt").read_text() == "a"
    for folder in (root, root / "layers", root / "records"):
        assert folder.stat().st_mode & 0o077 == 0


def test_a_layer_that_is_gone_is_adopted_again(tmp_path: Path) -> None:
    other, store, files = Store(tmp_path / "other"), Store(tmp_path / "store"), cut(tmp_path / "cut")
    keep(other, files, "1")
    store.adopt(tmp_path / "other", "1")
    shutil.rmtree(tmp_path / "store" / "layers")
    with pytest.raises(NoSuchSnapshot):
        store.read("1")
    store.adopt(tmp_path / "other", "1")
    assert (store.layer_path(store.read("1").layers[0]) / "a.txt").exists()
