"""A project's own options of pytest's: all tests of the row are run, in one process and in their order."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import Recipe, RunOptions, run_command
from tests.swe.channel.repository import OPTIONS, made, short
from tests.swe.running import run_tests

TESTS = """
import random
order = []
def test_a(): order.append(1)
def test_b(): assert order == [2], "another"
def test_c(tmp_path): order.append(3)
def test_d(): assert order == [1, 3]
"""
ALL = {"test_a": "PASSED", "test_b": "FAILED", "test_c": "PASSED", "test_d": "PASSED"}
CACHING = """
def test_a(cache):
    cache.set("a/b", 1)
    assert cache.get("a/b", 0) == 1
def test_b(): assert False
def test_c(): pass
def test_d(request): assert request.config.cache is not None
"""
RANDOMLY = """
import random
def pytest_addoption(parser):
    group = parser.getgroup("randomly")
    group.addoption("--randomly-seed", dest="randomly_seed", default="default")
    group.addoption("--randomly-a", action="store_false", dest="randomly_reorganize", default=True)
    group.addoption("--randomly-b", action="store_false", dest="randomly_reset_seed", default=True)
def pytest_collection_modifyitems(config, items):
    if config.getoption("randomly_reorganize"):
        items.reverse()
def pytest_runtest_call(item):
    assert item.config.getoption("randomly_seed") in (0, 7), "each run has another seed"
    if item.config.getoption("randomly_reset_seed"):
        raise AssertionError("reseeded")
"""


@pytest.mark.parametrize(
    "options",
    ["", "-x", "--maxfail=1", "--sw", "--ff", "--nf", "--lf --lfnf=all", "--cache-clear", "-p no:cacheprovider"],
)
def test_each_test_is_run_whatever_failed_before(repo: Path, scripts: Path, options: str) -> None:
    (repo / "pytest.ini").write_text(f"[pytest]\naddopts = {options}\n")
    task = made(repo, TESTS, *ALL)
    for _ in range(2):  # a cache is there at the second
        assert short(run_tests(task, task.ids, scripts, options=OPTIONS).report.statuses()) == ALL


def test_tests_and_settings_may_need_the_cache(repo: Path, scripts: Path) -> None:
    (repo / "pytest.ini").write_text("[pytest]\naddopts = --strict-config\ncache_dir = .cache/of_pytest\n")
    task = made(repo, CACHING, *ALL)
    assert short(run_tests(task, task.ids, scripts, options=OPTIONS).report.statuses()) == ALL


@pytest.mark.parametrize("options", ["", "--randomly-seed=7", "-p no:randomly"])
def test_a_plugin_that_shuffles_stays_and_does_not_shuffle(repo: Path, scripts: Path, options: str) -> None:
    (repo / "randomly.py").write_text(RANDOMLY)
    loaded = "" if "no:" in options else "-p randomly"
    (repo / "pytest.ini").write_text(f"[pytest]\naddopts = {loaded} {options}\npythonpath = .\n")
    task = replace(made(repo, TESTS, *ALL), test_command="python -m pytest")
    assert short(run_tests(task, task.ids, scripts, options=OPTIONS).report.statuses()) == ALL


@pytest.mark.parametrize(
    ("command", "recipe", "first"),
    [
        ("", Recipe(files={"a.py": ""}), True),
        ("python -m pytest -rA", Recipe(files={"a.py": ""}), True),
        ("python3 -m pytest", None, True),
        ("pytest -rA", Recipe(files={"a.py": ""}), False),
        ("", None, False),
    ],
)
def test_a_recipe_is_run_by_the_module_unless_it_says_otherwise(
    repo: Path, command: str, recipe: Recipe | None, first: bool
) -> None:
    task = replace(made(repo, "", "test_a"), test_command=command, recipe=recipe)
    job = json.loads(run_command(task, task.ids, RunOptions("/py", "/host", OPTIONS.nonce)).stdin)
    assert job["prepended"] == ([str(repo)] if first else [])
