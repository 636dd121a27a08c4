"""A repository of a product and its tests, under pytest and unittest, with whatever product a test gives it."""

from __future__ import annotations

from pathlib import Path

from sandbox_gym.verifiers.swe import ChannelReport, RunOptions
from tests.swe.rows import own_task
from tests.swe.running import NONCE, run_tests

OPTIONS = RunOptions(python="", folder="", nonce=NONCE, autoload=False)
TESTS = """
import sys, os
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import unittest
import pytest
import helpers
import product

def _read(value):
    return value

def check_sum(value):
    assert value == 3

def test_plain():
    assert product.add(1, 2) == 3

def test_helper():
    check_sum(_read(product.add(1, 2)))

def test_raises():
    with pytest.raises(ValueError):
        product.add(1, None)

class TestCase(helpers.Helper):
    def test_equal(self):
        self.assertEqual(product.add(1, 2), 3)

    def test_helper(self):
        self.assertSum(product.add(1, 2), 3)
"""
HELPERS = """
import unittest

class Helper(unittest.TestCase):
    def assertSum(self, found, wanted):
        self.assertEqual(found, wanted)
"""
NAMES = ("test_plain", "test_helper", "test_raises", "TestCase::test_equal", "TestCase::test_helper")
RIGHT = "def add(a, b):\n    if b is None:\n        raise ValueError(b)\n    return a + b\n"


def ran(repo: Path, product: str, *, tests: str = TESTS, names: tuple[str, ...] = NAMES) -> ChannelReport:
    (repo / "product.py").write_text(product)
    (repo / "helpers.py").write_text(HELPERS)
    (repo / "tests" / "test_a.py").write_text(tests)
    task = own_task(repo, [f"tests/test_a.py::{name}" for name in names], [])
    return run_tests(task, task.ids, _scripts(repo), options=OPTIONS).report


def ran_with_unittest(repo: Path, product: str) -> ChannelReport:
    (repo / "product.py").write_text(product)
    (repo / "helpers.py").write_text(HELPERS)
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_u.py").write_text("""
import helpers
import product
class Case(helpers.Helper):
    def test_equal(self):
        self.assertEqual(product.add(1, 2), 3)
    def test_helper(self):
        self.assertSum(product.add(1, 2), 3)
""")
    task = own_task(repo, ["tests.test_u.Case.test_equal", "tests.test_u.Case.test_helper"], runner="unittest")
    return run_tests(task, task.ids, _scripts(repo)).report


def _scripts(repo: Path) -> Path:
    folder = repo.parent / "host"
    folder.mkdir(exist_ok=True)
    return folder


def short(report: ChannelReport) -> dict[str, str]:
    return {test.partition("::")[2]: str(status) for test, status in report.statuses().items()}


WRONG = "def add(a, b):\n    return 0\n"
FRAMES = """
import sys
def up(wanted):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if wanted(value):
                return value
        frame = frame.f_back
"""
