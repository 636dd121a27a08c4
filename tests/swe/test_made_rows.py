"""Rows whose repository is in the row: they are read, built without any index, and refused where they are wrong."""

from __future__ import annotations

from typing import Any

import pytest

from examples.agents.instances import made_on_the_spot
from sandbox_gym.errors import RequestError
from sandbox_gym.swe.recipes import recipe_steps
from sandbox_gym.verifiers.swe import Recipe, parse_task

ROW = made_on_the_spot()[0].row


def parsed(**environment: object) -> Any:
    return parse_task({**ROW, "environment": environment}).recipe


def test_a_repository_of_files_needs_no_index() -> None:
    recipe = parse_task(ROW).recipe
    assert recipe is not None
    assert recipe.files["tests/__init__.py"] == ""
    steps = {step.name: step.command for step in recipe_steps(recipe, {})}
    assert list(steps) == ["python", "commit", "clean"]
    assert "--without-pip" in steps["python"]
    with_pytest = recipe_steps(parsed(files={"a.py": ""}, packages=["pytest"]), {})
    assert [step.name for step in with_pytest] == ["python", "packages", "commit", "clean"]


def test_keys_of_other_recipes_are_as_they_were() -> None:
    assert Recipe(source="a==1").key() == "3a5355952073d70a139888c3ca5da276d31027ec15cf337a05148c414e84d081"
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
