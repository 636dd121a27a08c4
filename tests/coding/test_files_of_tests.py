"""Files of tests as people write them: without `entry_point`, with coroutines, with libraries that no box has."""

from __future__ import annotations

import textwrap

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import RequestError, ToolchainMissing
from sandbox_gym.verifiers.coding import parse_task
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.syntax import libraries
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

Row = dict[str, object]
ADD = "LIMIT = 2\n\ndef add(a, b):\n    return a + b\n"
UNNAMED = {
    "from": "from solution import add\ndef test_a():\n    assert add(1, 2) == 3\n",
    "whole": "import solution as s\ndef test_a():\n    assert s.LIMIT == 2\n    assert s.add(1, 2) == 3\n",
    "a value before": "from solution import LIMIT, add\ndef test_a():\n    assert add(1, LIMIT) == 3\n",
    "all": "from solution import *\ndef test_a():\n    assert add(1, 2) == 3\n",
    "inside": "def test_a():\n    from solution import add\n    assert add(1, 2) == 3\n",
    "check": "from solution import add\ndef check(f):\n    assert add(1, 2) == f(2, 1) == 3\n",
    "unittest": "import unittest\nfrom solution import add as plus\nclass T(unittest.TestCase):\n"
    "    def test_a(self):\n        self.assertEqual(plus(1, 2), 3)\n",
}


@pytest.mark.parametrize("module", ["solution", "adder"])
@pytest.mark.parametrize("name", UNNAMED)
async def test_what_a_test_imports_is_asked_for(name: str, module: str, judge: Judge) -> None:
    row: Row = {"test": UNNAMED[name].replace("solution", module), "module": module}
    text = f"{ADD}\n````\n\nAs in:\n\n````python\nprint('no more than that')"
    right, wrong = await judge(text, row), await judge(ADD.replace("a + b", "a * b"), row)
    assert (right.reward, wrong.reward, wrong.failure_reason) == (1.0, 0.0, "wrong_answer"), (right.tests, wrong.tests)


@pytest.mark.parametrize(
    "test", ["def check(f):\n    assert f(1, 2) == 3\n", UNNAMED["from"].replace("solution", "adder")]
)
def test_what_imports_nothing_of_the_answer_must_name_it(test: str) -> None:
    with pytest.raises(RequestError, match="entry_point: is missing; give the function's name, or import it from"):
        parse_task({"test": test}, limits=Settings().limits(), early_stop=True)


BANK = """
    import asyncio

    class Bank:
        def __init__(self):
            self.held, self.lock = {}, asyncio.Lock()

        async def open(self, name, value):
            self.held[name] = value

        async def move(self, source, target, value):
            async with self.lock:
                await asyncio.sleep(0)
                if self.held[source] < value:
                    raise ValueError("short of money")
                self.held[source] -= value
                self.held[target] += value
"""
OF_BANK = """
    import asyncio
    import pytest
    from solution import Bank

    @pytest.fixture
    async def bank():
        made = Bank()
        await made.open("a", 100)
        await made.open("b", 0)
        yield made
        await made.move("b", "a", 0)

    class TestBank:
        @pytest.fixture
        async def rich(self, bank):
            self.count = 3
            await bank.open("c", 9)
            return bank

        @MARK
        async def test_move(self, bank):
            await asyncio.gather(*(bank.move("a", "b", 10) for _ in range(10)))
            assert (bank.held["a"], bank.held["b"]) == (0, 100)

        async def test_rich(self, rich):
            assert self.count == 3
            assert rich.held["c"] == 9

    MORE
    @pytest.mark.parametrize("value", [101, 200])
    async def test_short(bank, value):
        with pytest.raises(ValueError, match="short"):
            await bank.move("a", "b", value)
"""
DOUBLES = "from solution import f\nasync def test_a():\n    assert await f(2) == 4\n    assert await f(0) == 0\n"
ENDS = {
    "closes what it is to run": "asyncio.BaseEventLoop.run_until_complete = lambda self, run: run.close()\n"
    "async def f(x): pass",
    "has its own loop": "class L:\n    run_until_complete = lambda self, run: run.close()\n"
    "asyncio.new_event_loop, asyncio.all_tasks = L, lambda loop: set()\nasyncio.set_event_loop = id\n"
    "async def f(x): pass",
    "is no coroutine to whoever asks": "import inspect\ninspect.iscoroutinefunction = lambda of: False\n"
    "async def f(x): pass",
    "stops the loop": "async def f(x):\n    asyncio.get_running_loop().stop()\n    await asyncio.sleep(1)",
    "is cancelled": "async def f(x):\n    asyncio.current_task().cancel()\n    await asyncio.sleep(1)",
    "ends a generator": "async def f(x):\n    raise GeneratorExit",
    "skips": "import pytest\nasync def f(x):\n    pytest.skip('no')",
}


@pytest.mark.parametrize("more", ["def test_made():\n        assert Bank().held == {}\n", ""])
@pytest.mark.parametrize("mark", ["pytest.mark.asyncio", "pytest.mark.anyio"])
async def test_tests_and_fixtures_that_are_coroutines_are_run(mark: str, more: str, judge: Judge) -> None:
    row: Row = {"test": textwrap.dedent(OF_BANK.replace("MARK", mark).replace("MORE", more))}
    for old, new, reward in (("", "", 1.0), ("+= value", "+= 1", 0.0), ('ValueError("', 'KeyError("', 0.0)):
        verdict = await judge(textwrap.dedent(BANK.replace(old, new)), row)
        assert verdict.reward == reward, verdict.tests


async def test_one_whose_coroutines_are_right_passes(judge: Judge) -> None:
    verdict = await judge(
        "import asyncio\nasync def f(x):\n    return await asyncio.sleep(0, 2 * x)", {"test": DOUBLES}
    )
    assert (verdict.reward, verdict.integrity) == (1.0, "isolated"), verdict.tests


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("test", [DOUBLES, DOUBLES.replace("test_a()", "test_a(capsys)")])
async def test_no_answer_ends_them_before_they_end(test: str, name: str, judge: Judge) -> None:
    verdict = await judge(f"import asyncio\n{ENDS[name]}", {"test": test})
    assert verdict.reward == 0.0


@pytest.mark.parametrize("base", ["unittest.TestCase", "TestCase"])
def test_a_coroutine_that_unittest_does_not_await_is_refused(base: str) -> None:
    head = f"import unittest\nfrom unittest import TestCase\nfrom solution import f\nclass T({base}):\n"
    test = f"{head}    async def test_a(self):\n        self.assertEqual(await f(1), 2)\n"
    with pytest.raises(RequestError, match=r"holds T\.test_a, a generator or coroutine"):
        parse_task({"test": test}, limits=Settings().limits(), early_stop=True)


ONE = "def f(x):\n    return x + 1\n"
LACKING = {
    "pytest": "import nowhere\nfrom solution import f\ndef test_a():\n    assert f(1) == 2\n",
    "skipped": "import pytest\nnowhere = pytest.importorskip('nowhere')\nfrom solution import f\n"
    "def test_a():\n    assert f(1) == 2\n",
    "captured": "from nowhere.of import it\nfrom solution import f\ndef test_a(capsys):\n    assert f(1) == 2\n",
    "within": "from solution import f\ndef test_a():\n    import nowhere\n    assert f(1) == 2\n",
    "within a class": "from solution import f\nclass TestF:\n    def test_a(self):\n        from nowhere import it\n"
    "        assert f(1) == 2\n",
    "check": "import nowhere\ndef check(f):\n    assert f(1) == 2\n",
    "unittest": "import unittest\nimport nowhere\nclass T(unittest.TestCase):\n"
    "    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
}


@pytest.mark.parametrize("name", LACKING)
async def test_what_the_row_imports_and_no_box_has_is_no_verdict(name: str, judge: Judge) -> None:
    row: Row = {"test": LACKING[name], "entry_point": "f"}
    with pytest.raises(ToolchainMissing, match="the row needs nowhere, which the sandboxes' Python does not have"):
        await judge(ONE, row)
    known = LACKING[name].replace("from nowhere.of import it", "import nowhere")
    row["test"] = known.replace("from nowhere import it", "import nowhere").replace("nowhere", "pytest")
    assert (await judge(ONE, row)).reward == 1.0


async def test_what_the_answer_imports_and_no_box_has_is_its_fault(judge: Judge) -> None:
    forged = "sandbox: can't start: FileNotFoundError: [Errno 2] not installed: 'numpy'"
    test = "import numpy\nfrom solution import f\ndef test_a(capsys):\n    assert f(1) == 2\n"
    for code in (f"import nowhere\n{ONE}", f"raise ModuleNotFoundError({forged!r})\n{ONE}"):
        verdict = await judge(code, {"test": test})
        assert (verdict.reward, verdict.failure_reason) in ((0.0, "runtime_error"), (0.0, "wrong_answer")), verdict


def test_libraries() -> None:
    source = (
        "import os.path, numpy.linalg as la\nfrom scipy import stats\nfrom . import near\nimport solution, pytest\n"
    )
    assert libraries(source, "solution") == ("numpy", "scipy")
    assert libraries("try:\n    import nowhere\nexcept ImportError:\n    pass\n", "solution") == ()
    assert libraries("import sys\nsys.modules['nowhere'] = sys\nimport nowhere\n", "solution") == ()
    assert libraries("no Python", "solution") == ()
    tests = CheckTests("def check(f):\n    pass\n", "f", "import seaborn\ndef f(x):\n    return 1\n")
    assert tests.libraries == ("seaborn",)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def test_a(mocker):\n    pass\n", ("pytest_mock",)),
        ("class TestA:\n    def test_a(self, benchmark, tmp_path):\n        pass\n", ("pytest_benchmark",)),
        ("import pytest\n@pytest.fixture\ndef mocker():\n    pass\ndef test_a(mocker):\n    pass\n", ()),
        ("import pytest\n@pytest.fixture(name='mocker')\ndef it():\n    pass\ndef test_a(mocker):\n    pass\n", ()),
        ("import pytest\n@pytest.mark.parametrize('faker', [1])\ndef test_a(faker):\n    pass\n", ()),
        ("from solution import mocker\ndef test_a(mocker):\n    pass\n", ()),
        ("def test_a():\n    try:\n        import nowhere\n    except ImportError:\n        pass\n", ()),
        ("def test_a():\n    with raises(ImportError):\n        import nowhere\n", ()),
        ("def test_a():\n    if f(1):\n        import nowhere\n", ()),
        ("def helper():\n    import nowhere\ndef test_a():\n    pass\n", ()),
    ],
)
def test_libraries_of_tests(source: str, expected: tuple[str, ...]) -> None:
    assert libraries(source, "solution") == expected


async def test_a_fixture_that_no_plugin_has_is_no_verdict(judge: Judge) -> None:
    with pytest.raises(ToolchainMissing, match="the row needs pytest_mock, which"):
        await judge(ONE, {"test": "from solution import f\ndef test_a(mocker):\n    assert f(1) == 2\n"})
