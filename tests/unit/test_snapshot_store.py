"""Layers and records of local snapshots: what the state folder lost meanwhile is no snapshot, and may be made again."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from sandbox_gym.sandbox.containers.machine import ContainerMachine
from sandbox_gym.sandbox.containers.snapshots import ImageSnapshots, LabelledImage, SnapshotImages
from sandbox_gym.sandbox.local.sessions.store import Record, Store
from sandbox_gym.sandbox.snapshots import FORGOTTEN_S, NoSuchSnapshot, Saving, Snapshot


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


DISK = """
import sys
from pathlib import Path
from tests.unit.test_snapshot_store import on_a_full_disk
on_a_full_disk(Path(sys.argv[1]))
"""


def names(root: Path) -> list[str]:
    return sorted(path.name for folder in ("records", "globals") for path in (root / folder).iterdir())


def on_a_full_disk(root: Path) -> None:
    """Files may hold so many bytes and no more, from nothing to more than all takes."""
    store = Store(root / "store")
    record = keep(store, cut(root / "cut"), "1")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    failures = 0
    for size in range(0, 700, 20):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        try:
            store.write(replace(record, snapshot=replace(record.snapshot, snapshot_id="2")), b"g" * 100)
        except OSError:
            failures += 1
            assert names(root / "store") == ["1.json"]
        else:
            assert names(root / "store") == ["1.json", "2.json", "2.pickle"]
            store.delete("2")
    assert failures > 5
    assert names(root / "store") == ["1.json"]


def test_a_snapshot_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", DISK, tmp_path], check=True)


def test_what_a_killed_process_was_writing_goes_at_the_next_start(tmp_path: Path) -> None:
    keep(Store(tmp_path / "store"), cut(tmp_path / "cut"), "1")
    for left in ("records/2.new", "globals/2.new", "globals/3.pickle"):
        (tmp_path / "store" / left).write_bytes(b"{")
    (tmp_path / "store/layers/.new-4").mkdir()
    assert [record.snapshot.snapshot_id for record in Store(tmp_path / "store").records()] == ["1"]
    assert names(tmp_path / "store") == ["1.json"]
    assert len(list((tmp_path / "store/layers").iterdir())) == 1


class OneImage(SnapshotImages[ContainerMachine]):
    """An engine with the images of one repository."""

    repository = "kept"

    def __init__(self) -> None:
        self.kept: dict[str, LabelledImage] = {}

    async def inspect(self, reference: str) -> LabelledImage | None:
        return self.kept.get(reference)

    async def listed(self, label: str, *, unnamed: bool = False) -> Sequence[LabelledImage]:
        return list(self.kept.values())

    async def users(self, label: str) -> int:
        return 0

    async def layer_bytes(self, image_id: str) -> int:
        return 1

    async def commit(self, machine: ContainerMachine, snapshot_id: str, labels: Mapping[str, str]) -> str:
        self.kept[f"kept:{snapshot_id}"] = LabelledImage("sha256:1", labels)
        return "sha256:1"

    async def remove(self, reference: str) -> None:
        self.kept.pop(reference, None)

    async def prune(self, label: str, *, named: bool = False) -> None:
        """All have names."""


@pytest.mark.anyio
@pytest.mark.parametrize("full", [True, False])
async def test_an_image_without_its_globals_does_not_stay(tmp_path: Path, full: bool) -> None:
    async def settle(work: str) -> None:
        """Nothing is mounted."""

    images = OneImage()
    store = ImageSnapshots(images, tmp_path / "globals")
    if full:
        (tmp_path / "globals/12.new").mkdir()
    machine = SimpleNamespace(user=SimpleNamespace(uid=1), guest_volume=False)
    saving = Saving(Snapshot("12", None, "", 0, 0, 0.0), b"globals", durable=True, busy=False, settle=settle)
    with pytest.raises(OSError, match="12") if full else nullcontext():
        await store.save(cast(ContainerMachine, machine), saving)
    assert list(images.kept) == ([] if full else ["kept:12"])
