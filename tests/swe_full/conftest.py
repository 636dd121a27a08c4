"""Minutes of real repositories: left out unless asked for with `-m swe_full`, as `make test-swe` does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.sandbox.session.manager import Sessions
from tests.e2b.servers import PoolServer
from tests.swe.instance import forget_images
from tests.swe_full.judging import DIFFERENCES, TABLE, Judging

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("swe_full")
            item.add_marker(pytest.mark.timeout(1800))
    if "swe_full" in str(config.option.markexpr):
        return
    left_out = [item for item in items if HERE in item.path.parents]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary() -> None:
    """The table that a dataset's owner runs this for."""
    if TABLE:
        columns = (
            "provider",
            "instance",
            "fix",
            "nothing",
            "FAIL_TO_PASS",
            "PASS_TO_PASS",
            "build s",
            "fix s",
            "second s",
            "signs",
        )
        shown = Table(*columns)
        for line in TABLE:
            shown.add_row(*line)
        Console(width=160).print(shown)
    for difference in DIFFERENCES:
        Console(width=160).print(difference, markup=False)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", params=["local", "docker", "e2b-on-docker"])
async def judging(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Judging]:
    """An engine whose instances are kept from one test to the next."""
    folder = tmp_path_factory.mktemp(f"full-{request.param}")
    provider, _, beneath = str(request.param).partition("-on-")
    given: dict[str, object] = {"provider": provider, "state_dir": folder / "state", "deadline_s": 1500.0}
    pool = PoolServer(beneath, folder, "--network", keys="") if beneath else None
    if pool is not None:
        given |= {"e2b_api_url": pool.url, "e2b_api_key": "any", "e2b_creates_per_s": 100}
    settings = Settings.from_flat(given)
    try:
        async with open_engine(settings, sessions="swe") as engine:
            yield Judging(engine, settings)
            if pool is not None:
                assert isinstance(engine.sessions, Sessions)
                for one in await engine.sessions.store.all():
                    await engine.sessions.store.delete(one.snapshot_id)
    finally:
        if pool is not None:
            pool.stop()
    if request.param == "docker":
        forget_images(folder)
