"""Expected outputs that no program may print are refused, rather than failed by every answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding import parse_task

LIMITS = replace(Settings().limits(), stdout_bytes=1000)


def parsed(output: str, **more: object) -> object:
    row = {"unit_tests": {"inputs": ["1", "2"], "outputs": ["1", output]}, **more}
    return parse_task(row, limits=LIMITS, early_stop=True)


@pytest.mark.parametrize("output", ["x" * 1000, "é" * 500, "\U0001f600" * 250])
def test_what_may_be_printed_is_a_test(output: str) -> None:
    assert parsed(output)


@pytest.mark.parametrize("output", ["x" * 1001, "é" * 501, "\U0001f600" * 251])
def test_what_may_not_be_printed_is_none(output: str) -> None:
    with pytest.raises(RequestError, match=r"outputs\[1\].* has 100\d bytes; a program may print 1000; leave the test"):
        parsed(output)
    assert parsed(output, checker={"type": "program", "source": "exit(42)", "language": "python", "style": "kattis"})
