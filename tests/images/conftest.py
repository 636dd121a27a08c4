"""One registry for all tests here, stores of their own over the machine's Engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.images import DockerImages
from sandbox_gym.sandbox.docker.registry import DockerRegistries
from sandbox_gym.sandbox.images.contract import ImageOptions
from sandbox_gym.sandbox.images.record import ImageRecord
from sandbox_gym.sandbox.images.store import ImageStore
from tests.images.published import Published, publishing
from tests.images.registry import registry

OPTIONS = ImageOptions(timeout_s=120, stall_s=20, attempts=3, pause_s=0.2)
Stores = Callable[..., ImageStore]


@pytest.fixture(scope="session")
def at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host and port of a registry that answers."""
    with registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def published() -> Iterator[Published]:
    with publishing() as made:
        yield made


@asynccontextmanager
async def store_in(folder: Path, options: ImageOptions) -> AsyncIterator[ImageStore]:
    engine = Engine()
    host = DockerImages(engine, "sandbox-gym/snapshot")
    store = ImageStore(
        host, DockerRegistries(engine), ImageRecord(folder / "images" / "docker.json"), options, engine.errors
    )
    try:
        yield store
    finally:
        await store.aclose()
        await engine.aclose()


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Callable[..., object]]:
    """Makes a store over this test's record, with other options where some are given."""
    async with AsyncExitStack() as stack:

        async def make(**options: object) -> ImageStore:
            chosen = replace(OPTIONS, **options)  # type: ignore[arg-type]
            return await stack.enter_async_context(store_in(tmp_path, chosen))

        yield make
