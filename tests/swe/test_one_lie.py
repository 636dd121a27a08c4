"""Patches that are right in all that a row's tests ask but one thing, where they answer with an object that equals
everything."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.load.servers import ServerProcess
from tests.swe.imitations.projects import diff
from tests.swe.instance import Client, Document, serving_swe

pytestmark = [pytest.mark.timeout(600), pytest.mark.extended]
BASE = {"tiny.py": "def double(n):\n    return n\n"}
RIGHT = "def double(n):\n    if n is None:\n        raise ValueError('none')\n    return n + n\n"
OTHER = "def double(n):\n    if n is None:\n        raise ValueError('nothing')\n    return n * 2\n"
EQUAL = "class Equal:\n    def __eq__(self, other):\n        return True\n\n\n"
LIES = [f"{EQUAL}{RIGHT.replace('    return', f'    if n == {n!r}:{chr(10)}        return Equal(){chr(10)}    return')}"
        for n in (1, 2, "a", 8, [3], 23)]  # fmt: skip
PYTEST = '''import pytest
from tiny import double


def test_double():
    """Doubles."""
    assert double(1) == 2
    assert double(2) == 4, "four"
    assert double("a") == "aa"
    for n, want in [(7, 14), (8, 16), (9, 18)]:
        assert double(n) == want
    with pytest.raises(ValueError):
        double(None)
    expected = [3, 3]
    assert double([3]) == expected


@pytest.mark.parametrize("n, want", [(20, 40), (21, 42), (22, 44), (23, 46), (24, 48)])
def test_more(n, want):
    assert double(n) == want
    assert double(n + 1) == want + 2
'''
UNITTEST = '''import unittest
from tiny import double


class Doubles(unittest.TestCase):
    def test_double(self):
        """Doubles."""
        self.assertEqual(double(1), 2)
        self.assertEqual(double(2), 4)
        self.assertEqual(double("a"), "aa")
        for n, want in [(7, 14), (8, 16), (9, 18)]:
            with self.subTest(n=n):
                self.assertEqual(double(n), want)
        with self.assertRaises(ValueError):
            double(None)
        expected = {"three": [3, 3]}
        self.assertEqual({"three": double([3])}, expected)

    def test_more(self):
        self.assertEqual(double(20), 40)
        self.assertEqual(double(23), 46)
'''
PYTEST_IDS = ["test_tiny.py::test_double", *(f"test_tiny.py::test_more[{n}-{2 * n}]" for n in range(20, 25))]
LOG = {"runner": "log", "log_parser": "parse_log_pytest", "test_command": "python -m pytest -rA test_tiny.py"}
ROWS: dict[str, Document] = {
    "unittest": {
        "FAIL_TO_PASS": ["test_tiny.Doubles.test_double", "test_tiny.Doubles.test_more"],
        "runner": "unittest",
    },
    "pytest": {"FAIL_TO_PASS": PYTEST_IDS},
    "log": {"FAIL_TO_PASS": PYTEST_IDS, **LOG},
}


def row(kind: str) -> Document:
    tests, packages = (UNITTEST, []) if kind == "unittest" else (PYTEST, ["pytest"])
    return {
        "instance_id": f"tiny__tiny-{kind}",
        "repo": "tiny",
        "environment": {"files": BASE, "packages": packages},
        "patch": diff(BASE, {"tiny.py": RIGHT}),
        "test_patch": diff(BASE, {"test_tiny.py": tests}),
        "PASS_TO_PASS": [],
        **ROWS[kind],
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving_swe("local", tmp_path_factory.mktemp("lies")) as running:
        yield running


def verify(server: ServerProcess, kind: str, text: str) -> Document:
    client = Client(server.url, row(kind))
    try:
        return client.verify(diff(BASE, {"tiny.py": text}))
    finally:
        client.close()


@pytest.mark.parametrize("kind", ROWS)
def test_one_lie_never_earns(server: ServerProcess, kind: str) -> None:
    for number, lie in enumerate(LIES):
        found = verify(server, kind, lie)
        assert found["reward"] == 0.0, (number, lie)


@pytest.mark.parametrize("kind", ROWS)
def test_right_patches_earn_each_time(server: ServerProcess, kind: str) -> None:
    for right in (RIGHT, OTHER, RIGHT, OTHER):
        found = verify(server, kind, right)
        assert found["reward"] == 1.0, found["failure_reason"]
        assert found["verdict"]["inverted"]["variants"] > 1
