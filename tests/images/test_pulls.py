"""What a row names is pulled: once for all who wait, from where the settings say; failures have their right cause."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from sandbox_gym.errors import ImageNotPulled, ImageRefused, InstanceFailed
from sandbox_gym.sandbox.images.store import ImageStore
from tests.images.published import Published
from tests.images.registry import PASSWORD, USER, free_port, front, registry, silent, where

pytestmark = pytest.mark.anyio
Stores = Callable[..., Awaitable[ImageStore]]


async def test_many_who_wait_for_an_image_have_it_pulled_once(
    at_home: str, published: Published, stores: Stores
) -> None:
    with front(at_home) as counted:
        name = published.name(where(counted), "one")
        published.make(name)
        published.push(name, published.name(at_home, "one"))
        store = await stores()
        found: list[str] = []

        async def wait() -> None:
            found.append(await store.ensure(name))

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(wait)
        assert found == [name] * 12
        assert counted.blobs == 1
        assert (store.pulled, list(store.record.all())) == (1, [name])
        again = await stores()  # another process of the same state folder
        assert await again.ensure(name) == name
        assert again.pulled == 0
        assert counted.blobs == 1


async def test_so_many_at_once_and_others_go_on_meanwhile(at_home: str, published: Published, stores: Stores) -> None:
    with front(at_home) as held:
        names = [published.name(where(held), f"many{number}") for number in range(4)]
        for name in names:
            published.make(name)
            published.push(name, published.name(at_home, name.partition("/")[2].partition("/")[2].partition(":")[0]))
        here = published.name("", "here")
        published.make(here)
        store = await stores(at_once=2)
        held.held.clear()
        async with anyio.create_task_group() as tasks:
            for name in names:
                tasks.start_soon(store.ensure, name)
            while held.at_once < 2:
                await anyio.sleep(0.05)
            assert await store.ensure(here) == here  # it is here: nothing to wait for
            assert store.stats_dict() == {"pulled": 0, "removed": 0, "failed": 0, "pulling": 2, "waiting": 2}
            held.held.set()
        assert held.most_at_once == 2
        assert (held.blobs, store.pulled) == (4, 4)


async def test_a_pull_goes_on_when_its_caller_leaves(at_home: str, published: Published, stores: Stores) -> None:
    with front(at_home) as held:
        name = published.name(where(held), "left")
        published.make(name)
        published.push(name, published.name(at_home, "left"))
        store = await stores()
        held.held.clear()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.ensure, name)
            while not held.blobs:
                await anyio.sleep(0.05)
            tasks.cancel_scope.cancel()
        held.held.set()
        assert await store.ensure(name) == name
        assert (held.blobs, store.pulled) == (1, 1)


async def test_docker_hubs_names_come_from_the_mirror_and_keep_their_name(
    at_home: str, published: Published, stores: Stores
) -> None:
    name = published.name("", "mirrored")
    published.make(name)
    published.push(name, published.name(f"{at_home}/hub", name.partition("/")[2].partition(":")[0]))
    store = await stores(mirror=f"{at_home}/hub")
    assert await store.ensure(name) == name
    local = await store.find(name)
    assert local is not None
    assert local.names == (name,), "the mirror's name is not left beside it"
    with pytest.raises(ImageRefused, match=rf"pulled as {at_home}/hub/library/no-such-image:latest"):
        await store.ensure("no-such-image")


async def test_credentials_are_those_of_the_engines_client(
    published: Published, stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with registry(tmp_path / "private", password=True) as host:
        name = published.name(host, "private")
        published.make(name)
        published.push(name, auth={"username": USER, "password": PASSWORD})
        config = tmp_path / "client"
        config.mkdir()
        monkeypatch.setenv("DOCKER_CONFIG", str(config))
        store = await stores()
        with pytest.raises(ImageRefused, match=f"no basic auth credentials; .*docker login {host}"):
            await store.ensure(name)
        known = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        (config / "config.json").write_text(json.dumps({"auths": {host: {"auth": known}}}))
        assert await store.ensure(name) == name  # logged in while the server runs
        published.client.images.remove(name)
        helper = tmp_path / "bin" / "docker-credential-tests"
        helper.parent.mkdir()
        helper.write_text(f'#!/bin/sh\necho \'{{"Username": "{USER}", "Secret": "{PASSWORD}"}}\'\n')
        helper.chmod(0o755)
        monkeypatch.setenv("PATH", f"{helper.parent}:/usr/bin:/bin")
        (config / "config.json").write_text(json.dumps({"credHelpers": {host: "tests"}}))
        assert await store.ensure(name) == name


async def test_an_image_that_no_registry_has_is_the_rows_fault_and_is_not_tried_again(
    at_home: str, published: Published, stores: Stores
) -> None:
    store = await stores()
    for name in (f"{at_home}/nobody/has:this", published.name(at_home, "gone").replace(":1", "@sha256:" + "0" * 64)):
        began = time.monotonic()
        with pytest.raises(ImageRefused) as refused:
            await store.ensure(name)
        assert str(refused.value).startswith(f"image {name} can't be pulled: ")
        assert "correct the row's image" in str(refused.value)
        assert isinstance(refused.value, InstanceFailed)
        assert not refused.value.worth_a_retry
        assert time.monotonic() - began < 60
    assert store.stats_dict()["waiting"] == 0


async def test_a_failure_of_the_registry_passes(at_home: str, published: Published, stores: Stores) -> None:
    with front(at_home) as spoilt:
        name = published.name(where(spoilt), "passes")
        published.make(name)
        published.push(name, published.name(at_home, "passes"))
        store = await stores()
        spoilt.broken = 1
        assert await store.ensure(name) == name
        published.client.images.remove(name)
        spoilt.broken = 1000
        with pytest.raises(ImageNotPulled, match="500 Internal Server Error") as failed:
            await store.ensure(name)
        assert failed.value.worth_a_retry
        spoilt.broken = 0
        assert await store.ensure(name) == name, "a failure is not remembered"
        assert store.failed == 1


async def test_a_registry_that_never_answers_is_given_up(published: Published, stores: Stores) -> None:
    with silent() as host:
        name = published.name(host, "hangs")
        store = await stores(stall_s=1.0, attempts=2)
        with pytest.raises(ImageNotPulled, match="no byte came for 1 s"):
            await store.ensure(name)
        store = await stores(timeout_s=1.5, stall_s=60.0)
        with pytest.raises(ImageNotPulled, match="not done within 2 s"):
            await store.ensure(name)
    store = await stores()
    with pytest.raises(ImageNotPulled, match="connection refused"):
        await store.ensure(published.name(f"127.0.0.1:{free_port()}", "nobody"))


@pytest.mark.extended
async def test_a_layer_that_is_cut_in_its_middle_is_fetched_on(
    at_home: str, published: Published, stores: Stores
) -> None:
    with front(at_home) as spoilt:
        name = published.name(where(spoilt), "cut")
        published.make(name, 3_000_000)
        published.push(name, published.name(at_home, "cut"))
        store = await stores(stall_s=60.0)
        spoilt.cuts = 1
        assert await store.ensure(name) == name
        assert spoilt.blobs >= 2
        published.client.images.remove(name)
        spoilt.cuts = 1000
        store = await stores(stall_s=60.0, attempts=1)
        with pytest.raises(ImageNotPulled, match="EOF"):
            await store.ensure(name)


async def test_a_stalled_pull_is_begun_again(at_home: str, published: Published, stores: Stores) -> None:
    with front(at_home) as held:
        name = published.name(where(held), "stalled")
        published.make(name)
        published.push(name, published.name(at_home, "stalled"))
        store = await stores(stall_s=1.5, attempts=4)
        held.held.clear()
        release = threading.Timer(2.5, held.held.set)
        release.start()
        assert await store.ensure(name) == name
        release.join()
        assert held.blobs >= 2


async def test_where_pulls_are_not_allowed_the_remedy_is_named(published: Published, stores: Stores) -> None:
    store = await stores(pull=False)
    with pytest.raises(ImageNotPulled, match="docker load"):
        await store.ensure(published.name("", "offline"))
