"""Which verdict a submission is filed under, and which results agree with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.packages.check import Got, agrees, decided
from sandbox_gym.packages.expectations import matches
from sandbox_gym.packages.package import PackageError, Submission
from sandbox_gym.packages.reader import read_package
from tests.packages import write_package
from tests.unit.packages.reading import read, submissions


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("accepted", ("AC",)),
        ("slow_accepted", ("AC", "TLE")),
        ("brute_force", ("TLE", "RTE")),
        ("run_time_error", ("RTE",)),
        ("time-limit-exceeded", ("TLE",)),
        ("rejected", ("rejected",)),
        ("mixed-verdicts", ("AC", "WA", "TLE", "RTE", "MLE", "OLE", "CE")),
        ("compile_error", ("CE",)),
    ],
)
def test_the_folder_is_the_verdict(tmp_path: Path, folder: str, expected: tuple[str, ...]) -> None:
    package = read(tmp_path, **{f"submissions__{folder}__x.py": "print(1)"})
    assert submissions(package)[f"{folder}/x.py"].expected == expected


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# @EXPECTED_RESULTS@: TIMELIMIT, RUN-ERROR", ("TLE", "RTE")),
        ("// @EXPECTED_RESULTS@: WRONG_ANSWER,ACCEPTED", ("WA", "AC")),
        ("@EXPECTED_RESULTS@:time_limit_exceeded", ("TLE",)),
        ("@EXPECTED_RESULTS@: nonsense", ("AC", "WA", "TLE", "RTE", "MLE", "OLE", "CE")),
    ],
)
def test_a_comment_says_more(tmp_path: Path, comment: str, expected: tuple[str, ...]) -> None:
    package = read(tmp_path, submissions__mixed__x__py=comment, **{"submissions/mixed/y.py": comment})
    assert submissions(package)["mixed/y.py"].expected == expected


def result(*tests: str, whole: bool = False, reward: float = 0.0) -> Got:
    named = tuple((f"secret/{number}", verdict) for number, verdict in enumerate(tests))
    first = next((verdict for verdict in tests if verdict != "AC"), "AC")
    return Got(first, named, reward, 100 * reward, whole)


def filed(tmp_path: Path, folder: str, *, version: str = "legacy") -> Submission:
    files = {f"submissions/{folder}/x.py": "print(1)", "problem.yaml": f"problem_format_version: {version}\n"}
    return submissions(read_package(write_package(tmp_path / "echo", {**files})))[f"{folder}/x.py"]


@pytest.mark.parametrize(
    ("folder", "tests", "legacy", "dated"),
    [
        ("accepted", ("AC", "AC"), True, True),
        ("accepted", ("AC", "TLE"), False, False),
        ("slow_accepted", ("AC", "TLE"), True, True),
        ("slow_accepted", ("AC", "WA"), False, False),
        ("wrong_answer", ("AC", "PE"), True, True),
        ("wrong_answer", ("TLE", "WA"), False, False),
        ("time_limit_exceeded", ("AC", "TLE"), True, True),
        ("time_limit_exceeded", ("WA", "TLE"), True, False),
        ("time_limit_exceeded", ("RTE", "TLE"), False, False),
        ("run_time_error", ("WA", "TLE", "RTE"), True, False),
        ("run_time_error", ("AC", "MLE"), True, True),
        ("brute_force", ("AC", "RTE"), True, True),
        ("brute_force", ("WA", "TLE"), False, False),
        ("rejected", ("AC", "AC"), False, False),
        ("rejected", ("OLE", "AC"), True, True),
        ("mixed", ("AC", "AC"), True, True),
        ("rejected", ("JE",), False, False),
        ("mixed", ("JE",), False, False),
    ],
)
def test_what_agrees_when_every_test_was_run(
    tmp_path: Path, folder: str, tests: tuple[str, ...], legacy: bool, dated: bool
) -> None:
    assert agrees(filed(tmp_path / "a", folder), result(*tests, whole=True)) is legacy
    assert agrees(filed(tmp_path / "b", folder, version="2023-07-draft"), result(*tests, whole=True)) is dated


def test_the_first_failure_decides_but_where_another_may_follow(tmp_path: Path) -> None:
    late = filed(tmp_path, "time_limit_exceeded")
    assert not decided(late, result("AC", "WA"))
    assert decided(late, result("AC", "TLE"))
    assert decided(late, result("RTE"))
    assert decided(late, result("WA", "AC", whole=True))


YAML = """
wrong_answer/{a,b}.py:
  sample:
    permitted: [AC]
  secret/1*:
    permitted: [AC, WA]
    required: [WA]
rejected:
  permitted: [AC, RTE]
"slow*/*": {authors: Someone, model_solution: true}
accepted/k.py: {language: ada}
accepted/two: {entrypoint: b.py}
accepted/c.py: {score: [40, 60]}
"""


def test_rules_of_submissions_yaml(tmp_path: Path) -> None:
    names = ("wrong_answer/a", "wrong_answer/c", "rejected/x", "slow_accepted/x", "accepted/k", "accepted/c")
    files: dict[str, str | bytes | None] = {f"submissions/{name}.py": "print(1)" for name in names}
    files |= {
        "submissions/accepted/two/a.py": "",
        "submissions/accepted/two/b.py": "",
        "submissions/submissions.yaml": YAML,
    }
    found = submissions(read_package(write_package(tmp_path / "echo", files)))
    assert found["wrong_answer/c.py"].rules == ()
    assert found["slow_accepted/x.py"].rules == ()
    assert "ada" in found["accepted/k.py"].refused
    assert found["accepted/two"].main == "b.py"
    picky = found["wrong_answer/a.py"]
    sample, first, other = ("sample/1", "AC"), ("secret/10", "WA"), ("secret/20", "TLE")
    assert agrees(picky, Got("WA", (sample, first), 0.0, 0.0, True))
    assert not agrees(picky, Got("WA", (("sample/1", "WA"), first), 0.0, 0.0, True))
    assert not agrees(picky, Got("WA", (sample, ("secret/10", "AC"), ("secret/20", "WA")), 0.0, 0.0, True))
    assert not agrees(picky, Got("WA", (sample, first, other), 0.0, 0.0, True))  # its folder has a rule too
    assert agrees(found["rejected/x.py"], result("AC", "RTE", whole=True))
    assert not agrees(found["rejected/x.py"], result("WA", whole=True))
    assert agrees(found["accepted/c.py"], result("AC", whole=True, reward=0.5))
    assert not agrees(found["accepted/c.py"], result("AC", whole=True, reward=0.7))


@pytest.mark.parametrize(
    ("pattern", "path", "yes"),
    [
        ("accepted", "accepted/x.py", True),
        ("accepted/*", "accepted/x.py", True),
        ("*", "accepted/x.py", True),
        ("*.py", "accepted/x.py", False),
        ("accepted/*.{py,cpp}", "accepted/x.cpp", True),
        ("{a,b{c,d}}/x", "bd/x", True),
        ("a*b*c", "aXbYbZc", True),
        ("a*b*c", "ac", False),
        ("a*a", "a", False),
        ("{" * 50, "x", False),
        ("{a,b}" * 40, "ab" * 20, False),
        ("*a" * 200 + "b", "a" * 250, False),
    ],
)
def test_patterns(pattern: str, path: str, yes: bool) -> None:
    assert matches(pattern, path) is yes


@pytest.mark.parametrize(
    "text", ["a: 1", "a: {permitted: [XX]}", "a: {permitted: {x: 1}}", "a: {score: much}", "a: {language: 3}"]
)
def test_a_submissions_yaml_that_says_nothing(tmp_path: Path, text: str) -> None:
    files = {"submissions/submissions.yaml": text.replace("a:", "accepted:", 1)}
    with pytest.raises(PackageError, match=r"submissions\.yaml"):
        read_package(write_package(tmp_path / "echo", {**files}))
