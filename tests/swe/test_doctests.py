"""Rows with ids of doctests: whose file goes back, who runs them, which of them can't decide."""

from __future__ import annotations

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.swe import SweTask, parse_task, read_patch, restore_plan
from sandbox_gym.verifiers.swe.logs.verdicts import log_command
from sandbox_gym.verifiers.swe.patches.paths import is_doctest
from tests.swe.rows import SWEBENCH
from tests.swe.test_restore import edit

CODE = ["src/pkg/mod.py", "pkg/mod.py", "pkg/deep/er.py", "mod.py", "pkg/__init__.py"]
TEST = "tests/test_a.py::test_a"


def doctest_of(path: str, name: str = "f") -> str:
    """As pytest names it: by the module's own name."""
    module = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{path}::{module}.{name}"


def task(fail: list[str], hold: list[str], gold: str, **more: object) -> SweTask:
    return parse_task({**SWEBENCH, "patch": edit(gold), "FAIL_TO_PASS": fail, "PASS_TO_PASS": hold, **more})


def put_back(one: SweTask, *paths: str) -> tuple[str, ...]:
    return restore_plan(one, read_patch("".join(map(edit, paths)).encode()).changes).restore


@pytest.mark.parametrize("path", CODE)
def test_code_whose_docstrings_must_hold_is_no_file_of_tests(path: str) -> None:
    """Neither where the row's fix changes it, nor where another one does."""
    for gold in (path, "pkg/other.py"):
        for name in ("f", "C.method"):
            one = task([TEST], [doctest_of(path, name)], gold)
            assert put_back(one, path) == ("tests/test_a.py",)


@pytest.mark.parametrize("path", CODE)
def test_docstrings_that_decide_go_back_where_the_fix_leaves_them(path: str) -> None:
    assert path in put_back(task([TEST, doctest_of(path)], [], "pkg/other.py"), path)
    assert path in put_back(task([doctest_of(path)], [], "pkg/other.py"), path)
    assert path not in put_back(task([TEST, doctest_of(path)], [], path), path)


@pytest.mark.parametrize("path", CODE)
def test_docstrings_of_the_changed_files_do_not_decide_alone(path: str) -> None:
    with pytest.raises(RequestError, match=r"row\.FAIL_TO_PASS: has doctests alone"):
        task([doctest_of(path), doctest_of(path, "g")], [TEST], path)


TESTS = """tests/test_a.py::tests.test_a.f tests/util.py::tests.util.f pkg/mod.py::test_mod pkg/mod.py::TestMod::test
    test_x.py::test_x README.rst::README.rst pkg/mod.py::mypy pkg/mod.py::FLAKE8 pkg/mod.py::model.f pkg/mod.py"""


@pytest.mark.parametrize("test", TESTS.split())
def test_other_ids_are_tests_as_ever(test: str) -> None:
    assert not is_doctest(test)
    path = test.partition("::")[0]
    assert path in put_back(task([TEST], [test], path, runner="pytest"), path)


@pytest.mark.parametrize("end", ["rst", "txt", "md", "ipynb", "yml"])
def test_what_pytest_collects_beside_its_tests_is_run_by_pytest(end: str) -> None:
    assert task([TEST], [f"docs/use.{end}::use.{end}"], "a.py").runner == "pytest"


@pytest.mark.parametrize("test", ["TestSum", "lib.rs::tests::works", "a > b", "test_a (pkg.Case)"])
def test_ids_of_another_runner_without_a_command_say_so(test: str) -> None:
    one = task([TEST], [test], "a.py")
    assert one.runner == "log"
    with pytest.raises(RequestError) as refused:
        log_command(one)
    assert test in str(refused.value)
    assert "runner" in str(refused.value)
