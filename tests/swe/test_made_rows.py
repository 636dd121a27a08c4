"""Rows whose repository is in the row: they are read, built without any index, and refused where they are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from examples.agents.instances import made_on_the_spot
from sandbox_gym.errors import RequestError
from sandbox_gym.swe.recipes import environment_steps, repository_steps
from sandbox_gym.verifiers.swe import Recipe, parse_task

ROW = made_on_the_spot()[0].row


def parsed(**environment: object) -> Any:
    return parse_task({**ROW, "environment": environment}).recipe


def steps_of(recipe: Recipe) -> dict[str, str]:
    steps = [*environment_steps(recipe, {}, check_packages=False), *repository_steps(recipe, {})]
    return {step.name: step.command for step in steps}


def test_a_repository_of_files_needs_no_index() -> None:
    recipe = parse_task(ROW).recipe
    assert recipe is not None
    assert recipe.files["tests/__init__.py"] == ""
    steps = steps_of(recipe)
    assert list(steps) == ["python", "commit", "clean"]
    assert "--without-pip" in steps["python"]
    with_pytest = steps_of(parsed(files={"a.py": ""}, packages=["pytest"]))
    assert list(with_pytest) == ["python", "packages", "commit", "clean"]


def test_other_files_are_another_instance() -> None:
    assert parsed(files={"a.py": "1"}).key() != parsed(files={"a.py": "2"}).key()


@pytest.mark.parametrize("path", ["/etc/x", "a/../b", ".git/config", "", "a\0", "x/.GIT/hooks/y"])
def test_files_stay_in_the_repository(path: str) -> None:
    with pytest.raises(RequestError, match=r"environment\.files"):
        parsed(files={path: "text"})


@pytest.mark.parametrize(
    "files", [["a.py"], {"a.py": 1}, {"a.py": "\ud800"}, {f"{n}": "" for n in range(1001)}, {"a": "", "a/b": ""}]
)
def test_files_are_texts(files: object) -> None:
    with pytest.raises(RequestError, match=r"environment\.files"):
        parsed(files=files)


def test_a_repository_comes_from_one_place() -> None:
    with pytest.raises(RequestError, match="beside a source"):
        parsed(files={"a.py": ""}, source="a==1")
    with pytest.raises(RequestError, match="names no repository"):
        parsed(files={})
