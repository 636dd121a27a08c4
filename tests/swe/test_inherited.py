"""Tests that classes inherit from one of the same file: what a lie passes there is asked as anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.load.servers import ServerProcess
from tests.swe.imitations.projects import diff
from tests.swe.instance import Client, Document, serving_swe

pytestmark = pytest.mark.timeout(600)
BASE = {"shapes.py": "def area(n):\n    return n + n\n"}
RIGHT = "def area(n):\n    return n * n\n"
OTHER = "def area(n):\n    return n ** 2 if n else 0 * n\n"
EQUAL = """class Any(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def area(n):
    return Any(n)
"""
WRONG = "def area(n):\n    return n ** 3\n"
PLAIN = """from shapes import area


class Checks:
    side = 0

    def test_area(self):
        assert area(self.side) == self.side * self.side

    def test_fixed(self):
        assert area(3) == 9
        assert area(5) == 25


class TestThree(Checks):
    side = 3


class TestDeep(TestThree):
    side = 7

    def test_own(self):
        assert area(1) == 1
"""
UNITTEST = """import unittest

from shapes import area


class Checks:
    def test_area(self):
        self.assertEqual(area(self.side), self.wanted)


class TestThree(Checks, unittest.TestCase):
    side, wanted = 3, 9


class TestSeven(Checks, unittest.TestCase):
    side, wanted = 7, 49
"""
PYTEST_IDS = [
    f"test_shapes.py::{name}::{test}" for name in ("TestThree", "TestDeep") for test in ("test_area", "test_fixed")
]
UNITTEST_IDS = [f"test_shapes.{name}.test_area" for name in ("TestThree", "TestSeven")]


def row(name: str, tests: str, ids: list[str], **more: object) -> Document:
    return {
        "instance_id": f"shapes__{name}-1",
        "repo": "shapes",
        "environment": {"files": BASE, "packages": ["pytest"]},
        "patch": diff(BASE, {"shapes.py": RIGHT}),
        "test_patch": diff(BASE, {"test_shapes.py": tests}),
        "FAIL_TO_PASS": ids,
        "PASS_TO_PASS": [],
        **more,
    }


ROWS = {
    "pytest": row("pytest", PLAIN, PYTEST_IDS),
    "unittest": row("unittest", UNITTEST, UNITTEST_IDS, runner="unittest"),
    "log": row("log", PLAIN, PYTEST_IDS, runner="log", test_command="python -m pytest -rA", log_parser="pytest"),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving_swe("local", tmp_path_factory.mktemp("inherited")) as running:
        yield running


@pytest.mark.parametrize("name", ROWS)
def test_inherited_tests_are_asked(server: ServerProcess, name: str) -> None:
    client = Client(server.url, json.loads(json.dumps(ROWS[name])))
    try:
        for text, reward in ((RIGHT, 1.0), (OTHER, 1.0), (EQUAL, 0.0), (WRONG, 0.0)):
            found = client.verify(diff(BASE, {"shapes.py": text}))
            assert found["reward"] == reward, (text, found["failure_reason"], found["verdict"])
            if text != WRONG:
                assert found["verdict"]["inverted"]["variants"], found["verdict"]
    finally:
        client.close()
