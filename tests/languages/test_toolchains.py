"""Current toolchains in the image: answers written for them pass; the doctor says where a machine's are older."""

from __future__ import annotations

import pytest

from sandbox_gym.cli.languages import LanguageRow, version_of, with_newer
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.languages.modern_programs import MODERN


@pytest.mark.anyio
@pytest.mark.timeout(900)
async def test_current_answers_pass_on_docker() -> None:
    settings = Settings(provider="docker", boxes=2)
    wrong = {}
    async with open_engine(settings) as engine:
        for name, (language, source) in MODERN.items():
            row = {"language": language, "unit_tests": {"inputs": ["21\n"], "outputs": ["42\n"]}}
            task = parse_task(row, limits=settings.limits(), early_stop=True)
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"````{language}\n{source}\n````"))).verdict
            if verdict.reward != 1.0:
                wrong[name] = verdict.tests
    assert wrong == {}


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("gcc (Debian 14.2.0-19) 14.2.0", (14, 2, 0)),
        ("javac 21.0.12", (21, 0, 12)),
        ("go version go1.24.4 linux/amd64", (1, 24, 4)),
        ("rustc 1.85.1 (4eb161250 2025-03-15)", (1, 85, 1)),
        ("v20.19.2", (20, 19, 2)),
        ("javac 25", (25,)),
        ("no number", ()),
    ],
)
def test_versions_are_read(said: str, version: tuple[int, ...]) -> None:
    assert version_of(said) == version


def test_the_doctor_says_where_docker_has_newer_ones() -> None:
    here = [
        LanguageRow("rust", True, "rustc 1.63.0"),
        LanguageRow("go", True, "go version go1.24.4"),
        LanguageRow("sql", False, "", "apt-get install sqlite3"),
    ]
    there = [
        LanguageRow("rust", True, "rustc 1.85.1"),
        LanguageRow("go", True, "go version go1.24.4"),
        LanguageRow("sql", False, ""),
    ]
    assert [row.newer for row in with_newer(here, there, "docker")] == ["docker has rustc 1.85.1", "", ""]
