"""Checkers, scoring and languages of a row: what is read, what is refused, what tests are worth together."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import LANGUAGES, CodingTask, language_named, parse_task
from sandbox_gym.verifiers.coding.running.checkers import ProgramChecker, TextChecker
from sandbox_gym.verifiers.coding.running.programs import IMAGES

TESTS: dict[str, object] = {"unit_tests": {"inputs": ["1", "2", "3"], "outputs": ["1", "2", "3"]}}


def task(**fields: object) -> CodingTask:
    return parse_task(TESTS | fields, limits=Limits(), early_stop=True)


def test_a_name_is_a_checker() -> None:
    assert task(checker="tokens").checker == TextChecker("tokens")
    assert task(checker="float").checker == TextChecker("tokens", absolute=1e-6, relative=1e-6)
    assert task(float_tolerance=0.01).checker == TextChecker(absolute=0.01, relative=0.01)


def test_a_program_is_a_checker() -> None:
    checker = task(checker={"type": "program", "source": "exit(42)", "args": ["x"], "full_score": 100}).checker
    assert isinstance(checker, ProgramChecker)
    assert (checker.language.name, checker.style, checker.args, checker.full_score) == ("python", "kattis", ("x",), 100)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"checker": "fuzzy"}, "checker.type"),
        ({"checker": 3}, "checker"),
        ({"checker": {"type": "exact", "float_tolerance": 0.1}}, "checker.float_tolerance"),
        ({"checker": {"type": "lines", "float_absolute_tolerance": 0.1}}, "checker.float_absolute_tolerance"),
        ({"checker": {"type": "tokens", "case_sensitive": "no"}}, "checker.case_sensitive"),
        ({"checker": {"type": "program"}}, "checker.source"),
        ({"checker": {"type": "program", "source": "x", "language": "cobol"}}, "checker.language"),
        ({"checker": {"type": "program", "source": "x", "files": {"../a": "x"}}}, "checker.files"),
        ({"checker": {"type": "program", "source": "x", "style": "dmoj"}}, "checker.style"),
        ({"language": "cobol"}, "language"),
        ({"scoring": "most"}, "scoring"),
        ({"groups": []}, "groups"),
        ({"groups": [{"tests": 2, "points": 1}]}, "groups"),
        ({"groups": [{"tests": 3}]}, "groups[0].points"),
        ({"groups": [{"tests": 3, "points": 0}]}, "groups"),
        ({"groups": [{"tests": True, "points": 1}]}, "groups[0].tests"),
        ({"groups": [{"tests": 3, "points": 1, "aggregation": "max"}]}, "groups[0].aggregation"),
        ({"fail_on_tamper": "debugging"}, "fail_on_tamper"),
        ({"fail_on_tamper": ["any", "debuging"]}, "fail_on_tamper"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, object], field: str) -> None:
    with pytest.raises(RequestError) as caught:
        task(**fields)
    assert caught.value.field == f"verifier_metadata.{field}"


def test_groups_earn_their_points() -> None:
    groups = [{"name": "easy", "tests": 1, "points": 30}, {"tests": 2, "points": 70, "aggregation": "avg"}]
    scoring = task(groups=groups).scoring
    reward, results = scoring.earned([1.0, 0.5, 0.0])
    assert reward == pytest.approx(0.475)
    assert [(result.name, result.points, result.of) for result in results] == [("easy", 30, 30), ("", 17.5, 70)]
    assert [scoring.stops_at(index) for index in range(3)] == [True, False, False]


@pytest.mark.parametrize(
    ("kind", "scores", "reward"), [("all", [1, 0.9], 0.0), ("fraction", [1, 0.5], 0.75), ("all", [], 0.0)]
)
def test_other_scoring(kind: str, scores: list[float], reward: float) -> None:
    assert task(scoring=kind).scoring.earned(scores)[0] == reward


def test_languages_have_one_name_each_and_answer_to_their_aliases() -> None:
    tags = [tag for language in LANGUAGES for tag in language.tags]
    assert len(tags) == len(set(tags))
    for language in LANGUAGES:
        assert language_named(language.name.upper()) is language


@pytest.mark.parametrize(
    ("name", "standard"), [("C++11", 17), ("c++14", 17), ("cpp", 17), ("c++20", 20), ("c++23", 23)]
)
def test_standards_of_cpp(name: str, standard: int) -> None:
    language = language_named(name)
    assert language is not None
    assert f"-std=gnu++{standard}" in language.compile
    assert language.options_for([b"#include <bits/stdc++.h>\n"])[1].endswith(f"gnu++{standard}")
    assert {"cpp", "c++23", "c"} <= {*language.tags, *language.fences}


def test_an_image_has_the_packages_of_its_languages_and_those_before_it() -> None:
    packages = {"python3", "bash"}  # the base has these
    for image in IMAGES:
        listed = Path(__file__).parents[2] / "images" / image / "packages.txt"
        packages |= {line for line in listed.read_text().splitlines() if line and not line.startswith("#")}
        wanted = {name for language in LANGUAGES if language.image == image for name in language.package.split()}
        assert wanted <= packages, image


@pytest.mark.parametrize("name", ["cuda", "lean", "julia", "brainfuck", 7])
def test_what_is_not_judged_is_said_with_all_that_is(name: object) -> None:
    with pytest.raises(RequestError) as raised:
        task(language=name)
    assert raised.value.field == "verifier_metadata.language"
    assert all(language.name in raised.value.remedy for language in LANGUAGES)


def test_other_packages_bring_languages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an entry point, in a process that starts anew."""
    (tmp_path / "mine.py").write_text(
        "from sandbox_gym.verifiers.coding.languages.language import Language\n"
        "FISH = Language(name='fish', aliases=(), source='main.fish', toolchain='/usr/bin/fish', package='fish',\n"
        "                version=('/usr/bin/fish', '-v'), run=('/usr/bin/fish', '{source}'))\n"
    )
    (tmp_path / "mine-1.dist-info").mkdir()
    (tmp_path / "mine-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (tmp_path / "mine-1.dist-info" / "entry_points.txt").write_text("[sandbox_gym.languages]\nfish = mine:FISH\n")
    code = "from sandbox_gym.verifiers.coding import language_named as named; print(named('fish').run)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    shown = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout == "('/usr/bin/fish', '{source}')\n"
