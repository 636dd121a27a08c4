"""A test that uses what only an answer can have imported is run in one process with it; others are not."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.split import why_not_isolated

THEIRS = (
    "np.allclose(f(1), 2)",
    "f(pd.Series([1])) == 1",
    "datetime(2024, 1, 1) == f(1)",
    "datetime.now() > f(1)",
    "isinstance(f(1), os.PathLike)",
    "copy([1]) == f(1)",
)
OURS = (
    "math.isclose(f(1), 2)",
    "datetime.date(2024, 1, 1) == f(1)",
    "Counter('aab') == f(1)",
    "random.choice([1]) == f(1)",
    "calendar(1) == f(1)",
    "helper.value == f(1)",
)


@pytest.mark.parametrize("said", [*THEIRS, *OURS])
def test_by_name(said: str) -> None:
    test = f"def check(candidate):\n    assert {said.replace('f(', 'candidate(')}\n"
    found = why_not_isolated(CheckTests(test, "f", ""))
    assert found == (f"the test uses {_name(said)}, which only an answer imports" if said in THEIRS else "")


@pytest.mark.parametrize("said", THEIRS)
def test_what_the_row_itself_imports_is_no_answers(said: str) -> None:
    import_ = {"np": "import numpy as np", "pd": "import pandas as pd", "os": "from os import path as os"}
    imported = import_.get(_name(said), "from datetime import datetime\nfrom copy import copy")
    test = f"def check(candidate):\n    assert {said.replace('f(', 'candidate(')}\n"
    for row in (CheckTests(f"{imported}\n{test}", "f", ""), CheckTests(test, "f", f"{imported}\ndef f(x):\n")):
        assert "only an answer" not in why_not_isolated(row)


def _name(said: str) -> str:
    return next(name for name in ("np", "pd", "datetime", "os", "copy") if f"{name}." in said or f"{name}(" in said)
