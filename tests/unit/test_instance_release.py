"""Instances go with the image that they were made on, but none that a session or a build is at."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.swe.instances import FOLDER, Instances

KEPT = {
    "key": "image:a/b:/testbed", "snapshot_id": "s1", "commit": "c", "workdir": "/testbed", "python": "",
    "size_bytes": 7, "build_s": 1.0, "last_used": 5.0,
}  # fmt: skip


class Store:
    """Snapshots that can be deleted."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def delete(self, snapshot_id: str) -> None:
        self.deleted.append(snapshot_id)


@pytest.mark.anyio
async def test_an_instance_is_released_unless_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir(mode=0o700)
    (tmp_path / FOLDER / "instances.json").write_text(json.dumps([KEPT]))
    store, bases, pinned = Store(), {"session": "s1"}, set[str]()
    sessions = SimpleNamespace(
        folder=tmp_path / "sessions", provider=object(), store=store, bases=lambda: bases,
        budget=SimpleNamespace(pinned=pinned), background=None,
    )  # fmt: skip
    instances = Instances(cast(Sessions, sessions), disk_bytes=1000)
    assert (instances.last_used("s1"), instances.last_used("s2"), pinned) == (5.0, None, {"s1"})
    assert not await instances.release("s2")
    assert not await instances.release("s1"), "a session begins from it"
    bases.clear()
    with instances._using(str(KEPT["key"])):
        assert not await instances.release("s1"), "a build is at it"
    assert await instances.release("s1")
    assert (store.deleted, instances.kept(), pinned) == (["s1"], [], set())
    assert json.loads((tmp_path / FOLDER / "instances.json").read_text()) == []


@pytest.mark.anyio
async def test_a_layer_stays_while_an_instance_stands_on_it_and_goes_with_the_last(tmp_path: Path) -> None:
    layer = {**KEPT, "key": "layer:1", "snapshot_id": "l1", "commit": "", "workdir": "", "last_used": 6.0}
    one, other = ({**KEPT, "key": key, "snapshot_id": key, "layer": "layer:1"} for key in ("i1", "i2"))
    (tmp_path / FOLDER).mkdir(mode=0o700)
    (tmp_path / FOLDER / "instances.json").write_text(json.dumps([layer, one, {**other, "last_used": 6.0}]))
    store = Store()
    sessions = SimpleNamespace(
        folder=tmp_path / "sessions", provider=object(), store=store, bases=dict, background=None,
        budget=SimpleNamespace(pinned=set()),
    )  # fmt: skip
    instances = Instances(cast(Sessions, sessions), disk_bytes=20)
    assert [each.key for each in instances.kept()] == ["i1", "i2"], "a layer is no instance"
    await instances._evict()
    assert store.deleted == ["i1"], "21 of 20 bytes: the instance unused for longest, not the layer below both"
    instances._disk_bytes = 0
    await instances._evict()
    assert store.deleted == ["i1", "i2", "l1"]


@pytest.mark.anyio
async def test_a_layer_is_released_with_what_stands_on_it_unless_a_session_began_there(tmp_path: Path) -> None:
    layer = {**KEPT, "key": "layer:1", "snapshot_id": "l1", "commit": "", "workdir": ""}
    (tmp_path / FOLDER).mkdir(mode=0o700)
    (tmp_path / FOLDER / "instances.json").write_text(json.dumps([layer, {**KEPT, "layer": "layer:1"}]))
    store, bases = Store(), {"session": "s1"}
    sessions = SimpleNamespace(
        folder=tmp_path / "sessions", provider=object(), store=store, bases=lambda: bases, background=None,
        budget=SimpleNamespace(pinned=set()),
    )  # fmt: skip
    instances = Instances(cast(Sessions, sessions), disk_bytes=20)
    assert not await instances.release("l1")
    bases.clear()
    assert await instances.release("l1")
    assert store.deleted == ["s1", "l1"]
