"""Honest tests that do odd things: each keeps its right status, and none has a sign."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import RunOptions
from tests.swe.rows import own_task
from tests.swe.running import NONCE, run_tests

OPTIONS = RunOptions(python="", folder="", nonce=NONCE, autoload=False)
UNITTESTS = """
import unittest
class TestParts(unittest.TestCase):
    counter = 0
    @classmethod
    def setUpClass(cls):
        cls.made, cls.call = object(), staticmethod(lambda: 1)
    def setUp(self):
        self.attribute, self.data = (lambda: 2), {}
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(n, n)
    def test_parts_fail(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 1)
    def test_part_skips(self):
        with self.subTest("a"):
            self.skipTest("x")
    def test_cleanup(self):
        self.addCleanup(lambda: None)
        type(self).counter += 1
    def test_skips_midway(self):
        self.assertTrue(True)
        self.skipTest("mid")
class TestSkipped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("no")
    def test_never(self): pass
"""
ASYNC = """
import asyncio, unittest
class TestAsync(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.value = 1
    async def test_good(self):
        await asyncio.sleep(0)
        self.assertEqual(self.value, 1)
    async def test_bad(self): self.assertEqual(self.value, 2)
    async def test_skips(self): self.skipTest("x")
"""
PATCHING = """
import builtins, re, sys, time, unittest
from unittest import mock
import pytest
seen, client = [], None
def helper(): return 1
class Fake: pass
def setup_module(module):
    global client
    client = Fake()
    module.extra = lambda: 3
class TestPatched(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.patches = [mock.patch("builtins.open"), mock.patch.object(re, "compile")]
        cls.patches.append(mock.patch(__name__ + ".seen", [1]))
        for one in cls.patches:
            one.start()
    @classmethod
    def tearDownClass(cls):
        for one in cls.patches:
            one.stop()
    def test_a(self):
        time.sleep(0.1)
        self.assertTrue(isinstance(open, mock.Mock))
    def test_b(self):
        time.sleep(0.1)
    @mock.patch.object(unittest.TestCase, "assertEqual")
    def test_c(self, equal):
        self.assertEqual(1, 2)
def test_monkeypatch(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "helper", lambda: 2)
    monkeypatch.setattr(pytest, "raises", None)
    monkeypatch.setattr(builtins, "len", lambda value: 5)
    assert helper() == 2
def test_globals():
    global seen, client
    seen, client = [*seen, 1], Fake()
def test_spec():
    mock.create_autospec(unittest.TestCase).assertEqual(1, 2)
    mock.MagicMock(spec=dict)
def test_imports_late():
    import collections, unittest.async_case, doctest
    collections.Callable2 = 1
for n in (1, 2):
    def dynamic(self): self.assertTrue(True)
    setattr(TestPatched, "test_dynamic%d" % n, dynamic)
Made = type("Made", (unittest.TestCase,), {"test_x": lambda self: self.assertTrue(1)})
"""
SUBTESTS = """
def test_all(subtests):
    with subtests.test("a"): assert 1
    with subtests.test("b"): assert 1
def test_one(subtests):
    with subtests.test("a"): assert 0
"""
DOCTEST = '''
def add(a, b):
    """
    >>> add(1, 2)
    3
    """
    return a + b
'''


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (
            UNITTESTS,
            {
                "TestParts::test_parts": "PASSED",
                "TestParts::test_parts_fail": "FAILED",
                "TestParts::test_part_skips": "SKIPPED",
                "TestParts::test_cleanup": "PASSED",
                "TestParts::test_skips_midway": "SKIPPED",
                "TestSkipped::test_never": "SKIPPED",
            },
        ),
        (
            ASYNC,
            {
                "TestAsync::test_good": "PASSED",
                "TestAsync::test_bad": "FAILED",
                "TestAsync::test_skips": "SKIPPED",
            },
        ),
        (
            PATCHING,
            dict.fromkeys(
                (
                    *(f"TestPatched::test_{name}" for name in ("a", "b", "c", "dynamic1", "dynamic2")),
                    *(f"test_{name}" for name in ("monkeypatch", "globals", "spec", "imports_late")),
                    "Made::test_x",
                ),
                "PASSED",
            ),
        ),
        (SUBTESTS, {"test_all": "PASSED", "test_one": "FAILED"}),
        (DOCTEST, {"test_a.add": "PASSED"}),
    ],
    ids=["unittest", "async", "patching", "subtests", "doctest"],
)
def test_odd_and_honest(tmp_path: Path, text: str, ends: dict[str, str]) -> None:
    for folder in ("repo/tests", "host"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "repo" / "tests" / "test_a.py").write_text(text)
    (tmp_path / "repo" / "conftest.py").write_text("""
class Plugin:
    def pytest_runtest_setup(self, item): pass
def pytest_configure(config): config.pluginmanager.register(Plugin(), "own")
def pytest_assertrepr_compare(config, op, left, right): return None
""")
    (tmp_path / "repo" / "pytest.ini").write_text("[pytest]\naddopts = --doctest-modules\n")
    task = own_task(tmp_path / "repo", [f"tests/test_a.py::{name}" for name in ends], [])
    ran = run_tests(task, task.ids, tmp_path / "host", options=OPTIONS)
    found = {test.partition("::")[2]: str(status) for test, status in ran.report.statuses().items()}
    assert (found, ran.report.signs) == (ends, {}), ran.output


MAIN = """
import json, multiprocessing, os, sys, unittest
def double(n):
    return 2 * n
class TestMain(unittest.TestCase):
    def test_main(self):
        main = sys.modules["__main__"]
        with open(os.environ["TOLD"], "w") as file:
            json.dump([main.__file__, main.__spec__.name, main.__package__, main.__name__], file)
    def test_new_process(self):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.map(double, [1, 2]), [2, 4])
"""


@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_main_module_is_as_the_runners_own_command_has_it(
    runner: str, repo: Path, scripts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_a.py").write_text(MAIN)
    ids = {
        "pytest": [f"tests/test_a.py::TestMain::{name}" for name in ("test_main", "test_new_process")],
        "unittest": [f"tests.test_a.TestMain.{name}" for name in ("test_main", "test_new_process")],
    }[runner]
    task = own_task(repo, ids, runner=runner)
    monkeypatch.setenv("TOLD", str(tmp_path / "ours"))
    ran = run_tests(task, task.ids, scripts, options=OPTIONS)
    assert {str(status) for status in ran.report.statuses().values()} == {"PASSED"}, ran.output
    plain = [sys.executable, "-m", runner, "tests/test_a.py" if runner == "pytest" else "tests.test_a"]
    monkeypatch.setenv("TOLD", str(tmp_path / "plain"))
    subprocess.run(plain, cwd=repo, check=True, timeout=60, capture_output=True)
    assert (tmp_path / "ours").read_text() == (tmp_path / "plain").read_text()
