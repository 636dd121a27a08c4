"""The fault matrix: under each fault a request ends in the right verdict or in none that says so; the server goes on.

The short form has each kind of fault once, and a daily run half of it; `--extended` is the whole.
`python -m tests.chaos` prints the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.chaos.matrix import Cell, Servers, cells, failures, run_cell, serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
SEED = 1
SHORT = {
    Cell("bwrap SIGKILL", "coding"),
    Cell("supervisor SIGSTOP", "coding"),
    Cell("init SIGKILL", "coding"),
    Cell("init SIGSTOP", "coding"),
    Cell("ancestor OOM", "coding"),
    Cell("ancestor pids", "coding"),
    Cell("EMFILE", "coding"),
    Cell("no threads", "coding"),
    Cell("disk full", "coding"),
    Cell("journal locked", "coding"),
    Cell("clock steps", "coding"),
    Cell("server SIGKILL", "coding"),
    Cell("state folder gone", "coding"),
    Cell("worker SIGKILL", "math"),
    Cell("supervisor SIGKILL", "session"),
    Cell("container SIGKILL", "coding", "docker"),
}
SHORT_REQUESTS = 12


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with serving(tmp_path_factory.mktemp("chaos")) as opened:
        yield opened
    assert opened.left == set()


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(cell, id=cell.name, marks=() if cell in SHORT else pytest.mark.extended)
        for cell in cells()
    ],
)  # fmt: skip
async def test_no_fault_of_ours_is_a_zero(
    cell: Cell, servers: Servers, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    whole = request.config.getoption("--extended")
    row = await run_cell(cell, servers, SEED, 0 if whole else SHORT_REQUESTS, brief=not whole)
    record_property("matrix", row.text())
    assert failures(row) == []
