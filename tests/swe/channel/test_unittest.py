"""The runner against the real unittest."""

from __future__ import annotations

from pathlib import Path

from sandbox_gym.verifiers.swe import (
    as_row_ids,
)
from tests.swe.channel.product import RIGHT, WRONG, ran_with_unittest
from tests.swe.rows import own_task
from tests.swe.running import run_tests


def test_unittest(repo: Path, scripts: Path) -> None:
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_u.py").write_text("""
import unittest
class Case(unittest.TestCase):
    def test_ok(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    def test_raises(self): raise KeyError("x")
    def test_skip(self): self.skipTest("no")
    @unittest.expectedFailure
    def test_known(self): self.fail()
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n): self.assertNotEqual(n, 1)
class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no place")
    def test_never(self): pass
""")
    names = {
        "test_ok (tests.test_u.Case)": "PASSED",
        "test_bad (tests.test_u.Case.test_bad)": "FAILED",
        "tests.test_u.Case.test_raises": "ERROR",
        "test_skip (tests.test_u.Case)": "SKIPPED",
        "test_known (tests.test_u.Case)": "XFAIL",
        "test_parts (tests.test_u.Case)": "FAILED",
    }
    asked = [*names, "test_never (tests.test_u.Broken)", "test_gone (tests.test_u.Case)"]
    task = own_task(repo, asked, runner="unittest")
    ran = run_tests(task, task.ids, scripts)
    found = as_row_ids(task, ran.report)
    assert {test: status for test, status in found.items() if test in names} == names, ran.output
    assert not {"test_never (tests.test_u.Broken)", "test_gone (tests.test_u.Case)"} & set(found)
    assert any("no place" in why for why in ran.report.collect_errors.values())


def test_who_replaces_a_function_of_unittests_is_seen(repo: Path, scripts: Path) -> None:
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_u.py").write_text("""
import unittest
unittest.TestCase.assertEqual = lambda *args: None
class Case(unittest.TestCase):
    def test_bad(self): self.assertEqual(1, 2)
""")
    task = own_task(repo, ["tests.test_u.Case.test_bad"], runner="unittest")
    signs = run_tests(task, task.ids, scripts).report.signs
    assert signs == {"channel_runner_changed": "unittest.case.TestCase.assertEqual"}


def test_another_module_in_the_place_of_the_tests_is_told(repo: Path) -> None:
    """Its tests pass, and their code is of the code under test: the judge knows whether the patch made it."""
    taking = """
import sys, types, unittest
class Case(unittest.TestCase):
    def test_equal(self): pass
    test_helper = test_equal
made = types.ModuleType("tests.test_u")
made.Case, Case.__module__ = Case, "tests.test_u"
import tests
tests.test_u = sys.modules["tests.test_u"] = made
"""
    assert not [hook for hook in ran_with_unittest(repo, RIGHT).hooks if hook.startswith("test ")]
    report = ran_with_unittest(repo, WRONG + taking)
    assert f"test {repo}/product.py" in report.hooks


def test_a_test_file_that_the_code_under_test_writes_is_told(repo: Path, scripts: Path) -> None:
    """It is loaded after another one, which ran that code."""
    later = repo / "tests" / "test_later.py"
    later.write_text("import unittest\nclass Later(unittest.TestCase):\n    def test_it(self): self.fail()\n")
    text = later.read_text().replace("self.fail()", "pass")
    (repo / "product.py").write_text(f"open({str(later)!r}, 'w').write({text!r})\n")
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_first.py").write_text(
        "import product, unittest\nclass First(unittest.TestCase):\n    def test_it(self): pass\n"
    )
    task = own_task(repo, ["tests.test_first.First.test_it", "tests.test_later.Later.test_it"], runner="unittest")
    report = run_tests(task, task.ids, scripts).report
    assert report.signs["channel_tests_replaced"] == "tests/test_later.py"
