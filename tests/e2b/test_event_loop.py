"""Cells and asyncio: as in Jupyter, cells run in a running event loop, and tasks go on between them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from e2b.exceptions import TimeoutException
from e2b_code_interpreter import Sandbox

from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module", params=["base", "code-interpreter-v1"])
def interpreter(pool: PoolServer, request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    sandbox = Sandbox.create(request.param, timeout=120, **pool.where())
    try:
        yield sandbox
    finally:
        sandbox.kill()


def value(interpreter: Sandbox, code: str) -> str | None:
    ran = interpreter.run_code(code)
    assert ran.error is None, ran.error
    text: str | None = ran.text
    return text


BEGIN = """
import asyncio
seen = []
async def work(name):
    for number in range(3):
        seen.append(name + str(number))
        await asyncio.sleep(0.01)
    return name
task = asyncio.create_task(work("a"))
asyncio.get_running_loop().is_running()
"""


def test_a_task_goes_on_behind_its_cell(interpreter: Sandbox) -> None:
    assert value(interpreter, BEGIN) == "True"
    deadline = time.monotonic() + 30
    while value(interpreter, "task.done()") != "True":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert value(interpreter, "task.result() + str(len(seen))") == "a3"
    assert value(interpreter, "'+'.join(await asyncio.gather(work('b'), work('c')))") == "b+c"


def test_a_loop_of_its_own_is_an_error(interpreter: Sandbox) -> None:
    failed = interpreter.run_code("import asyncio\nasyncio.run(asyncio.sleep(0))")
    assert failed.error is not None
    assert (failed.error.name, "running event loop" in failed.error.value) == ("RuntimeError", True)
    thread = "import threading\nt = threading.Thread(target=lambda: asyncio.run(asyncio.sleep(0)))\nt.start(); t.join()"
    assert value(interpreter, thread + "\n'ran'") == "ran"


def test_a_context_variable_stays(interpreter: Sandbox) -> None:
    value(interpreter, "import asyncio, contextvars, decimal\nv = contextvars.ContextVar('v')")
    value(interpreter, "t = v.set(1)\ndecimal.getcontext().prec = 5")
    assert value(interpreter, "await asyncio.sleep(0)\n(v.get(), str(decimal.Decimal(1) / 3))") == "(1, '0.33333')"


@pytest.mark.parametrize("error", ["StopIteration", "KeyError", "KeyboardInterrupt", "asyncio.CancelledError"])
def test_an_exception_is_what_was_raised(interpreter: Sandbox, error: str) -> None:
    failed = interpreter.run_code(f"import asyncio\nraise {error}('text')")
    assert failed.error is not None
    assert failed.error.name == error.rpartition(".")[2]
    assert value(interpreter, "1 + 1") == "2"


def test_a_wait_that_is_interrupted_ends(interpreter: Sandbox) -> None:
    value(interpreter, "import asyncio\nlate = []")
    with pytest.raises(TimeoutException):
        interpreter.run_code("await asyncio.sleep(1.5)\nlate.append(1)", timeout=0.5)
    assert value(interpreter, "await asyncio.sleep(2)\nlate") == "[]"


def test_a_fork_of_a_cell_answers_nothing(interpreter: Sandbox) -> None:
    for number in range(5):
        ran = interpreter.run_code(f"import asyncio, os\np = os.fork()\nif p: os.waitpid(p, 0)\nn = {number}\nn")
        assert (ran.error, ran.text, len(ran.results)) == (None, str(number), 1)
    assert value(interpreter, "await asyncio.sleep(0.01)\n'done'") == "done"


def test_a_loop_that_is_stopped_takes_no_cell_with_it(interpreter: Sandbox) -> None:
    value(interpreter, "import asyncio\nloop = asyncio.get_running_loop()\ni = loop.call_later(0.05, loop.stop)")
    time.sleep(0.2)
    assert value(interpreter, "import gc\ni = gc.collect()\n40 + 2") == "42"


def test_a_task_that_exits_takes_no_cell_with_it(interpreter: Sandbox) -> None:
    value(interpreter, "import asyncio, gc, sys\nasync def leave():\n    sys.exit(3)\nt = asyncio.create_task(leave())")
    time.sleep(0.2)
    for _ in range(3):
        assert value(interpreter, "i = gc.collect()\nawait asyncio.sleep(0)\n40 + 2") == "42"
