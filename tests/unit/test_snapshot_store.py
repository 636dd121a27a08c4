"""Layers and records of local snapshots: what the state folder lost meanwhile is no snapshot, and may be made again."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from sandbox_gym.sandbox.local.sessions.store import Record, Store
from sandbox_gym.sandbox.snapshots import FORGOTTEN_S, NoSuchSnapshot, Snapshot


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


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("age_s", [0, FORGOTTEN_S - 60, FORGOTTEN_S + 60])
def test_what_no_record_names_goes_after_a_week(tmp_path: Path, pinned: bool, age_s: float) -> None:
    """As after a crash between a snapshot and its record; within the disk budget."""
    store = Store(tmp_path / "store")
    layer = store.seal(cut(tmp_path / "cut"))
    snapshot = Snapshot("1", None, layer.digest, layer.size_bytes, layer.files, time.time() - age_s)
    store.write(Record(snapshot, (layer.digest,)), b"")
    left = store.collect(budget_bytes=1 << 40, pinned={"1"} if pinned else set(), in_use=set(), before=time.monotonic())
    stays = pinned or age_s < FORGOTTEN_S
    assert (len(store.records()), left > 0) == (int(stays), stays)
