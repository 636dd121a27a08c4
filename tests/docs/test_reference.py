"""The generated reference has all settings and commands; pages name no setting, command or package that is none."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from typing import Final

import pytest

from docs.generate.commands import command_page, commands
from docs.generate.parts import MARK, part
from docs.generate.settings import Setting, settings
from docs.generate.tables import table
from sandbox_gym.config import Settings
from sandbox_gym.verifiers.math import MathOptions
from tests.documented import ROOT, page, pages

VARIABLE: Final = re.compile(r"\bSANDBOX_GYM_[A-Z0-9_]*[A-Z0-9]\b")
NO_SETTINGS: Final = {
    "SANDBOX_GYM_OWNER": "in the environment of a jail",
    "SANDBOX_GYM_POOL_TOKEN": "docker-compose.yml's name for the pool's token",
    "SANDBOX_GYM_REPOSITORY": "of builds",
    "SANDBOX_GYM_TEST_DATA": "of the tests",
    "SANDBOX_GYM_TEST_PODMAN": "of the tests",
    "SANDBOX_GYM_TEST_SAMPLE": "of the tests",
    "SANDBOX_GYM_MATH_URL": "of clients",
    "SANDBOX_GYM_SWE_URL": "of clients",
    "SANDBOX_GYM_URL": "of clients",
}
ALL: Final = settings()


def value_of(found: Settings, path: tuple[str, ...]) -> object:
    here: object = found
    for name in path:
        here = getattr(here, name)
    return here


@pytest.mark.parametrize("setting", [one for one in ALL if one.kind == "bool"], ids=lambda one: one.variable)
def test_a_variable_is_read(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    before = value_of(Settings(), setting.path)
    monkeypatch.setenv(setting.variable, json.dumps(not before))
    assert value_of(Settings(), setting.path) is (not before)


def test_settings_are_all_there_and_say_what_they_are() -> None:
    assert len(ALL) == len({one.variable for one in ALL}) > 70
    assert {one.kind for one in ALL} >= {
        "bool",
        "path",
        "text",
        "int >= 1",
        "list of text",
        "allow or mask or deny",
    }
    assert sum(1 for one in ALL if one.meaning) > 0.9 * len(ALL)
    shown = part("settings")
    assert all(f"`{one.variable}`" in shown for one in ALL)


def test_pages_name_settings_that_there_are() -> None:
    known = {one.variable for one in ALL} | set(NO_SETTINGS)
    named = {name: path.name for path in pages() if path.name != "CHANGELOG.md" for name in _named(path.read_text())}
    assert {f"{page}: {name}" for name, page in named.items() if name not in known} == set()


def _named(text: str) -> set[str]:
    """`SANDBOX_GYM_E2B_*` and `SANDBOX_GYM_E2B_...` stand for a group, not for a setting."""
    return set(VARIABLE.findall(re.sub(r"SANDBOX_GYM_[A-Z0-9_]*_(?:\*|\.\.\.)", "", text)))


@pytest.mark.parametrize("name", sorted(commands()))
def test_a_command_is_described(name: str) -> None:
    shown = command_page(name)
    assert shown.startswith(f"```text\nsandbox-gym {name}")
    assert "Exit:" in shown
    assert f"<!-- generated: command {name} -->" in page("cli.md").read_text()


def test_marks_name_parts_that_there_are() -> None:
    marks = [(path, mark) for path in pages() for mark in MARK.findall(path.read_text())]
    assert {mark.partition(" ")[0] for _, mark in marks} == {"settings", "metrics", "command", "routes", "bodies"}
    with pytest.raises(KeyError):
        part("nothing")


def test_tables() -> None:
    assert table(("a", "b"), [("1\n2", "x|y")]) == "| a | b |\n| --- | --- |\n| 1 2 | x\\|y |"


@pytest.mark.parametrize("where", ["docs/rows/math.md", "resources_servers/math/README.md"])
def test_each_option_of_math_rows_is_described(where: str) -> None:
    text = (ROOT / where).read_text()
    assert [one.name for one in fields(MathOptions) if one.name not in text] == []


def test_each_variable_of_the_compose_file_is_described() -> None:
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "docker-compose.yml").read_text()))
    table = page("compose.md").read_text().partition("| variable | unset |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines()[2:] for name in re.findall(r"`([A-Z_]+)`", row.split(" | ")[0])}
    assert told == used


def test_each_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    names = {re.match(r"[A-Za-z0-9-]+", one).group().lower() for one in wanted}  # type: ignore[union-attr]
    reasons = page("dependencies.md").read_text()
    told = {name for row in re.findall(r"^\| (.+?) \| .{10,} \|$", reasons, re.MULTILINE) for name in _packages(row)}
    assert names - told == set()
    assert told - names == set()


def _packages(cell: str) -> list[str]:
    """`math-verify, sympy (extra)`: both."""
    return [name.strip().lower() for name in re.sub(r"\(.*?\)", "", cell).split(",")]
