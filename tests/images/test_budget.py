"""Disk for pulled images: what was unused for longest goes; what is in use, or was not pulled here, stays."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox_gym.errors import ImageNotPulled
from sandbox_gym.sandbox.images.contract import ImageUses, LocalImage, PullFailed, PullProblem, PullProgress
from sandbox_gym.sandbox.images.name import ImageName
from sandbox_gym.sandbox.images.record import ImageRecord, disk_bytes
from sandbox_gym.sandbox.images.store import ImageStore
from tests.images.conftest import OPTIONS
from tests.images.published import Published

pytestmark = pytest.mark.anyio
Stores = Callable[..., Awaitable[ImageStore]]
SIZE = 300_000
"""Bytes of each image: two and a bit of them are the budget."""
BUDGET = 2 * SIZE + SIZE // 2


@pytest.fixture
def three(at_home: str, published: Published) -> list[str]:
    names = [published.name(at_home, f"budget{number}") for number in range(3)]
    for name in names:
        published.make(name, SIZE)
        published.push(name)
    return names


@contextmanager
def container_of(published: Published, name: str) -> Iterator[str]:
    """A container that was never started, which is in use nevertheless; its id."""
    made = published.client.api.create_container(name, ["none"])["Id"]
    try:
        yield made
    finally:
        published.client.api.remove_container(made, force=True)


async def test_the_longest_unused_goes_and_comes_back(three: list[str], published: Published, stores: Stores) -> None:
    store = await stores(disk_bytes=BUDGET)
    for name in (three[0], three[1], three[0], three[2]):
        assert await store.ensure(name) == name
    assert [published.has(name) for name in three] == [True, False, True]
    assert disk_bytes(store.record.all()) == 2 * SIZE
    assert store.stats_dict()["removed"] == 1
    assert await store.ensure(three[1]) == three[1]
    assert [published.has(name) for name in three] == [False, True, True]


async def test_after_a_restart_it_is_known_what_was_pulled(
    three: list[str], published: Published, stores: Stores
) -> None:
    published.client.images.pull(*three[2].rsplit(":", 1))  # the operator's
    before = await stores(disk_bytes=BUDGET)
    await before.ensure(three[2])
    await before.ensure(three[0])
    await before.aclose()
    store = await stores(disk_bytes=1)
    assert sorted(store.record.all()) == [three[0]]
    await store.ensure(three[1])
    assert [published.has(name) for name in three] == [False, True, True]


async def test_what_containers_use_stays_beyond_the_budget(
    three: list[str], published: Published, stores: Stores
) -> None:
    store = await stores(disk_bytes=BUDGET)
    await store.ensure(three[0])
    with container_of(published, three[0]):
        await store.ensure(three[1])
        async with store.holding(three[1]), store.holding(three[2]):
            assert all(published.has(name) for name in three), "all of them are in use"
            assert await store.collect() == 3 * SIZE
        assert await store.collect() == 2 * SIZE
        assert [published.has(name) for name in three] == [True, False, True]


@pytest.mark.extended
async def test_an_image_that_has_another_name_is_somebody_elses(
    three: list[str], published: Published, stores: Stores
) -> None:
    store = await stores(disk_bytes=BUDGET)
    await store.ensure(three[0])
    other = published.name("", "operators")
    published.client.api.tag(three[0], other.rpartition(":")[0], "1")
    for name in three[1:]:
        await store.ensure(name)
    assert all(published.has(name) for name in (*three, other))
    assert sorted(store.record.all()) == three[1:]
    published.client.images.remove(three[1])
    published.make(three[1], SIZE)  # the operator made another one of that name
    await store.ensure(three[0])
    assert disk_bytes(store.record.all()) <= BUDGET
    assert published.has(three[1])


class Holder:
    """Snapshots that were made on top of images."""

    def __init__(self, published: Published, snapshots: Mapping[str, float]) -> None:
        self.published, self.used, self.busy = published, dict(snapshots), False

    def last_used(self, snapshot_id: str) -> float | None:
        return self.used.get(snapshot_id)

    async def release(self, snapshot_id: str) -> bool:
        if self.busy:
            return False
        self.published.client.images.remove(f"sandbox-gym/snapshot:{snapshot_id}", force=True)
        return self.used.pop(snapshot_id, None) is not None


async def test_images_go_with_the_instances_on_them(three: list[str], published: Published, stores: Stores) -> None:
    store = await stores(disk_bytes=BUDGET)
    await store.ensure(three[0])
    snapshot = published.name("", "x").partition("/")[0][1:] + "abc"
    published._names.append(f"sandbox-gym/snapshot:{snapshot}")
    with container_of(published, three[0]) as container:
        published.client.api.commit(container, "sandbox-gym/snapshot", snapshot)
    await store.ensure(three[1])
    await store.ensure(three[2])
    assert published.has(three[0]), "the snapshot is nobody's that could be asked"
    holder = Holder(published, {snapshot: 4e9})
    store.holders.add(holder)
    assert await store.collect() == 2 * SIZE
    assert [published.has(name) for name in three] == [True, False, True], "its instance was used last"
    holder.busy = True
    store = await stores(disk_bytes=1)
    store.holders.add(holder)
    assert await store.collect() == SIZE
    assert published.has(three[0])
    holder.busy = False
    assert await store.collect() == 0
    assert not published.has(three[0])
    assert not holder.used


@pytest.mark.extended
async def test_layers_that_images_share_count_once(at_home: str, published: Published, stores: Stores) -> None:
    below = published.name(at_home, "below")
    published.make(below, SIZE)
    above = [published.name(at_home, f"above{number}") for number in range(2)]
    for name in above:
        published.on_top(name, below)
    for name in (*above, below):
        published.push(name)
    store = await stores()
    for name in above:
        await store.ensure(name)
    sizes = [image.size_bytes for name in above if (image := await store.find(name)) is not None]
    assert sum(sizes) - SIZE == disk_bytes(store.record.all())


# -- a disk that is full, which no test may make of the machine's


class FullDisk:
    """An engine whose disk is full until an image is removed."""

    def __init__(self, *there: str) -> None:
        self.images = {name: LocalImage(f"id-{name}", (name,), 10, ((name, 10),)) for name in there}
        self.full, self.attempts = True, 0

    def inspect(self, reference: str) -> LocalImage | None:
        return self.images.get(reference)

    def pull(self, name: ImageName, progress: PullProgress, stall_s: float, go_on: Callable[[], bool]) -> None:
        self.attempts += 1
        if self.full:
            raise PullFailed(PullProblem.DISK, "write /var/lib/docker/x: no space left on device")
        self.images["new"] = LocalImage("id-new", ("new",), 10, (("new", 10),))

    def layers(self, name: ImageName) -> Sequence[tuple[str, int]]:
        return [("sha256:1", 5)]

    def rename(self, old: str, new: str) -> None:
        raise AssertionError(old)

    def uses(self, image_id: str) -> ImageUses:
        return ImageUses()

    def remove(self, reference: str) -> bool:
        del self.images[reference]
        self.full = False
        return True


def on_full_disk(folder: Path, *recorded: str) -> tuple[FullDisk, ImageStore]:
    rows = [
        {"name": one, "reference": one, "image_id": f"id-{one}", "layers": [[one, 10]], "pulled_at": 0, "last_used": 0}
        for one in recorded
    ]
    path = folder / "images" / "docker.json"
    path.parent.mkdir()
    path.write_text(json.dumps(rows))
    engine = FullDisk("mine", "operators")
    return engine, ImageStore(engine, engine, ImageRecord(path), OPTIONS, (OSError,))


async def test_on_a_full_disk_room_is_made_and_the_pull_begun_again(tmp_path: Path) -> None:
    engine, store = on_full_disk(tmp_path, "mine")
    assert await store.ensure("new") == "new"
    assert (engine.attempts, sorted(engine.images)) == (2, ["new", "operators"])


async def test_a_full_disk_without_an_image_of_ours_is_our_fault(tmp_path: Path) -> None:
    engine, store = on_full_disk(tmp_path)
    with pytest.raises(ImageNotPulled, match="no space left on device; free disk at the engine"):
        await store.ensure("new")
    assert (engine.attempts, sorted(engine.images)) == (1, ["mine", "operators"])


async def test_a_record_that_cannot_be_read_makes_no_image_ours(tmp_path: Path) -> None:
    engine, store = on_full_disk(tmp_path, "mine")
    (tmp_path / "images" / "docker.json").write_text('[{"name": "mine"}]')
    assert not await store.make_room()
    assert sorted(engine.images) == ["mine", "operators"]
