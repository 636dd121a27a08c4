"""Package folders as values: what each file means, what is refused alone, and what refuses the package."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_gym.packages.agreement import Got, agrees, decided
from sandbox_gym.packages.expectations import matches
from sandbox_gym.packages.package import Package, PackageError, Submission
from sandbox_gym.packages.reader import read_package
from sandbox_gym.packages.rows import package_row
from tests.packages import write_package


def read(folder: Path, **files: str | bytes | None) -> Package:
    return read_package(write_package(folder / "echo", {name.replace("__", "/"): text for name, text in files.items()}))


def submissions(package: Package) -> dict[str, Submission]:
    return {one.path: one for one in package.submissions}


def refused(folder: Path, files: dict[str, str | bytes | None]) -> dict[str, str]:
    package = read_package(write_package(folder / "echo", files))
    return {one.path: one.refused for one in package.submissions if one.refused}


# -- submissions


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("accepted/x.kt", "fun main() {}", ".kt is no language"),
        ("accepted/x.hs", "main = 1", ".hs is no language"),
        ("accepted/x.py", b"\xff\xfe", "is no UTF-8"),
        ("accepted/x.py", "#!/usr/bin/env python2\nprint 1", "Python 2"),
        ("accepted/x.py2", "print 1", ".py2 is no language"),
        ("accepted/both/a.py", "", None),
        ("accepted/x.py", " " * (5 << 20), "larger than"),
        ("unheard_of/x.py", "print(1)", "unheard_of is no verdict"),
        ("accepted/dir/notes.txt", "nothing", "nothing is no language"),
        ("accepted/dir/a b.py", "print(1)", "has a name"),
    ],
)
def test_a_submission_is_refused_alone(tmp_path: Path, path: str, text: str | bytes, why: str | None) -> None:
    found = refused(tmp_path, {f"submissions/{path}": text})
    if why is None:
        assert found == {}
    else:
        assert [why in reason for reason in found.values()] == [True], found


def test_folders_of_submissions(tmp_path: Path) -> None:
    folder = "submissions/accepted/"
    package = read_package(
        write_package(
            tmp_path / "echo",
            {
                folder + "cpp/a.cpp": "int main() {}",
                folder + "cpp/b.cc": "",
                folder + "cpp/inc/b.h": "",
                folder + "cpp/a.o": b"\x7fELF",
                folder + "py/main.py": "import u",
                folder + "py/u.py": "",
                folder + "py/__pycache__/u.pyc": b"\0",
                folder + "mixed_tongues/a.c": "",
                folder + "mixed_tongues/b.py": "",
                folder + "open/a.py": "",
                folder + "open/b.py": "",
                folder + "ts/main.ts": "",
                folder + "ts/u.ts": "",
                folder + "README.md": "no program",
                folder + ".hidden.py": "no program",
            },
        )
    )
    found = submissions(package)
    assert (found["accepted/cpp"].main, sorted(found["accepted/cpp"].files)) == ("a.cpp", ["b.cc", "inc/b.h"])
    assert (found["accepted/py"].main, list(found["accepted/py"].files)) == ("main.py", ["u.py"])
    assert {path: one.refused.partition(": ")[2] for path, one in found.items() if one.refused} == {
        "accepted/mixed_tongues": "has sources of c and python; a program has one language",
        "accepted/open": "which file is the main one is open; name it main",
        "accepted/ts": "programs of several files in typescript can't be run here",
    }
    assert "accepted/README.md" not in found
    assert "accepted/.hidden.py" not in found


@pytest.mark.parametrize("target", ["/etc/hostname", "../../../../outside.py", "missing.py", "loop.py"])
def test_a_link_out_of_the_package_is_refused_alone(tmp_path: Path, target: str) -> None:
    (tmp_path / "outside.py").write_text("secret = 1")
    folder = write_package(tmp_path / "echo", {})
    (folder / "submissions/accepted/loop.py").symlink_to(target)
    found = submissions(read_package(folder))
    assert found["accepted/loop.py"].refused
    assert found["accepted/loop.py"].source == ""
    assert not found["accepted/good.py"].refused


def test_a_link_within_the_package_is_read(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {"submissions/rejected/x.txt": ""})
    (folder / "submissions/rejected/same.py").symlink_to("../accepted/good.py")
    assert submissions(read_package(folder))["rejected/same.py"].source == "print(input())\n"


def test_a_pipe_is_no_submission(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    os.mkfifo(folder / "submissions/accepted/pipe.py")
    assert "is no file" in submissions(read_package(folder))["accepted/pipe.py"].refused


def test_a_folder_within_itself_is_refused_alone(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {"submissions/accepted/dir/main.py": ""})
    (folder / "submissions/accepted/dir/again").symlink_to(".")
    assert "link to a folder" in submissions(read_package(folder))["accepted/dir"].refused


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    (folder / "submissions/accepted" / os.fsdecode(b"\xff.py")).write_text("print(1)")
    assert "accepted/\\udcff.py" in submissions(read_package(folder))


# -- verdicts


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
accepted/k.py: {language: kotlin}
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
    assert "kotlin" in found["accepted/k.py"].refused
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


# -- the package as a whole


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"problem.yaml": None}, "has no problem.yaml"),
        ({"problem.yaml": "a: &x [*x]\nlimits: *x"}, "is a list"),
        ({"problem.yaml": "[" * 5000}, "is no YAML"),
        ({"problem.yaml": "d: 2024-99-99"}, "is no YAML"),
        ({"problem.yaml": b"\xff"}, "is no UTF-8"),
        ({"problem.yaml": "x: '" + "y" * (2 << 20) + "'"}, "is larger than"),
        ({"problem.yaml": "validator_flags: it's"}, "No closing quotation"),
        ({"problem.yaml": "validator_flags: {a: b}"}, "give text"),
        ({"problem.yaml": "type: submit-answer"}, "submit-answer problems"),
        ({"problem.yaml": "type: [[x]]"}, "give text"),
        ({"problem.yaml": "validation: custom"}, "has 0 output validators"),
        ({"problem.yaml": "validation: custom multi-pass"}, "has 0 output validators"),
        ({"problem.yaml": "limits: {time_limit: .inf}"}, "limits.time_limit is inf"),
        ({"problem.yaml": "limits: {memory: [1]}"}, "limits.memory is a list"),
        ({"problem.yaml": "constants: {a: [1]}"}, "constants"),
        ({"data/secret/testdata.yaml": "grading: custom"}, "grader of the package's own"),
        ({"data/secret/testdata.yaml": "grader_flags: accept_if_any_accepted"}, "forgives wrong answers"),
        ({"data/secret/2.yaml": "args: [--fast]"}, "files or arguments"),
        ({"data/secret/2.files/x.txt": "1"}, "files or arguments"),
        ({"data/secret/2.ans": None}, "has no 2.ans"),
        ({"data/secret/2.in": b"\xff"}, "is no UTF-8"),
        ({"data/secret/1.in": None, "data/secret/2.in": None}, "holds no case"),
        ({"static_validator/v.py": "x"}, "static_validator"),
        ({"data/secret/testdata.yaml": "accept_score: x", "problem.yaml": "type: scoring"}, "accept_score"),
        ({"data/secret/testdata.yaml": "grader_flags: max", "problem.yaml": "type: scoring"}, "max grader"),
        ({"data/secret/testdata.yaml": "reject_score: 1", "problem.yaml": "type: scoring"}, "points for wrong answers"),
    ],
)
def test_what_refuses_a_package(tmp_path: Path, files: dict[str, str | bytes | None], message: str) -> None:
    with pytest.raises(PackageError, match=message):
        read_package(write_package(tmp_path / "echo", files))


def test_an_alias_bomb_is_told_in_few_words(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    for field in ("validator_flags", "type", "limits", "constants"):
        text = "\n".join([*lines, f"{field}: *a11"])
        with pytest.raises(PackageError) as caught:
            read_package(write_package(tmp_path / field, {"problem.yaml": text}))
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize("name", ["data/secret/9.in", "data/secret/1.ans", "output_validators/v.py"])
def test_a_link_out_of_the_package_refuses_what_all_need(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").write_text("secret")
    folder = write_package(tmp_path / "echo", {"problem.yaml": "validation: custom", "data/secret/9.ans": "1"})
    target = folder / name
    target.unlink(missing_ok=True)
    target.parent.mkdir(exist_ok=True)
    target.symlink_to(tmp_path / "outside")
    if not name.startswith("output"):
        write_package(folder, {"output_validators/v.py": "import sys"}, base={})
    with pytest.raises(PackageError, match="leads out of the package"):
        read_package(folder)


def test_a_link_to_a_folder_of_cases_is_refused(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    (folder / "data/secret/more").symlink_to("../sample")
    with pytest.raises(PackageError, match="link to a folder"):
        read_package(folder)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    folder = write_package(tmp_path / "echo", {})
    os.truncate(folder / "data/secret/1.in", 65 << 20)
    with pytest.raises(PackageError, match="is larger than"):
        read_package(folder)


# -- validators


def checker(package: Package) -> dict[str, object]:
    metadata = package_row(package, time_limit_s=1)["verifier_metadata"]
    assert isinstance(metadata, dict)
    found = metadata["checker"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("", {}),
        ("case_sensitive", {"case_sensitive": True}),
        ("--case-sensitive", {"case_sensitive": True}),
        ("space_change_sensitive", {"space_sensitive": True}),
        ("float_tolerance 1e-6", {"float_tolerance": 1e-6}),
        ("float_tolerance=1E-6", {"float_tolerance": 1e-6}),
        ("float_tolerance 0", {"float_tolerance": 0.0}),
        ("float_absolute_tolerance .5 case_sensitive", {"float_absolute_tolerance": 0.5, "case_sensitive": True}),
        (
            "float_relative_tolerance 1e-9 float_absolute_tolerance 1",
            {"float_relative_tolerance": 1e-9, "float_absolute_tolerance": 1.0},
        ),
    ],
)
def test_flags_of_the_default_validator(tmp_path: Path, flags: str, expected: dict[str, object]) -> None:
    wanted = {"type": "tokens", "case_sensitive": False, **expected}
    assert checker(read(tmp_path / "a", **{"problem.yaml": f"validator_flags: {flags}"})) == wanted
    assert checker(read(tmp_path / "b", **{"data/testdata.yaml": f"output_validator_flags: {flags}"})) == wanted
    listed = f"output_validator_args: {flags.split()}"
    assert checker(read(tmp_path / "c", **{"data/test_group.yaml": listed})) == wanted


@pytest.mark.parametrize(
    "flags", ["space_change", "float_tolerance", "float_tolerance x", "float_tolerance -1", "float_tolerance nan"]
)
def test_a_flag_that_the_default_validator_lacks(tmp_path: Path, flags: str) -> None:
    with pytest.raises(PackageError, match="validator_flags"):
        checker(read(tmp_path, **{"problem.yaml": f"validator_flags: {flags}"}))


def test_flags_are_inherited_and_may_differ_by_case(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "problem.yaml": "validation: custom\nvalidator_flags: a",
        "output_validators/v.py": "x",
        "data/testdata.yaml": "output_validator_flags: b",
        "data/secret/testdata.yaml": "output_validator_flags: {name: v, flags: c d}",
        "data/secret/2.yaml": "output_validator_args: [e]",
        "data/secret/deep/3.in": "1",
        "data/secret/deep/3.ans": "1",
    }
    found = checker(read_package(write_package(tmp_path / "echo", files)))
    assert found["test_args"] == [["a", "b"], ["a", "c", "d"], ["a", "e"], ["a", "c", "d"]]
    files = {"data/secret/testdata.yaml": "output_validator_flags: case_sensitive"}
    other = read_package(write_package(tmp_path / "other", files))
    with pytest.raises(PackageError, match="different flags"):
        checker(other)


@pytest.mark.parametrize(
    ("files", "source", "beside", "sources"),
    [
        ({"output_validators/v.py": "V"}, "V", [], []),
        ({"output_validators/v.cpp": "V", "output_validators/testlib.h": "T"}, "V", ["testlib.h"], []),
        (
            {"output_validators/v/v.cpp": "int main(", "output_validators/v/u.cpp": "U"},
            "int main(",
            ["u.cpp"],
            ["u.cpp"],
        ),
        ({"output_validators/v/v.py": "import u", "output_validators/v/u.py": "U"}, "import u", ["u.py"], []),
        ({"output_validators/v/build": "B", "output_validators/v/a.zig": "Z"}, None, ["a.zig", "build"], []),
        ({"output_validators/v/run": "R", "output_validators/v/icon.png": b"\x89PNG\xff"}, None, ["run"], []),
        ({"output_validator/v.py": "V"}, "V", [], []),
        ({"output_validator/build": "B", "output_validator/v.c": "V"}, None, ["build", "v.c"], []),
    ],
)
def test_validators(
    tmp_path: Path, files: dict[str, str | bytes | None], source: str | None, beside: list[str], sources: list[str]
) -> None:
    found = checker(read_package(write_package(tmp_path / "echo", {"problem.yaml": "validation: custom", **files})))
    assert found.get("source") == source
    assert sorted(found["files"]) == beside  # type: ignore[call-overload]
    assert found.get("sources", []) == sources


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"output_validators/a.py": "", "output_validators/b.py": ""}, "has 2 output validators"),
        ({"output_validators/a/a.py": "", "output_validators/b/b.py": ""}, "has 2 output validators"),
        ({"output_validators/v.hs": ""}, "has 0 output validators"),
        ({"output_validators/v/v.hs": ""}, ".hs is no language"),
        ({"output_validators/v/run": b"\x7fELF\xff"}, "is no UTF-8"),
        ({"output_validators/v/a.py": "", "output_validators/v/b.py": ""}, "which file is the main one"),
    ],
)
def test_validators_that_refuse_the_package(tmp_path: Path, files: dict[str, str | bytes | None], message: str) -> None:
    with pytest.raises(PackageError, match=message):
        read_package(write_package(tmp_path / "echo", {"problem.yaml": "validation: custom", **files}))


@pytest.mark.parametrize(
    ("problem", "passes", "interactive"),
    [
        ("validation: custom multi-pass", 2, False),
        ("validation: custom interactive multi-pass\nlimits: {validation_passes: 7}", 7, True),
        ("problem_format_version: 2023-07-draft\ntype: [pass-fail, multi-pass, interactive]", 2, True),
        ("problem_format_version: 2023-07-draft\ntype: multi-pass\nlimits: {validation_passes: 3}", 3, False),
    ],
)
def test_kinds_of_problems(tmp_path: Path, problem: str, passes: int, interactive: bool) -> None:
    package = read(tmp_path, **{"problem.yaml": problem, "output_validator/v.py": "x"})
    assert (package.passes, package.interactive) == (passes, interactive)


def test_points_of_2023(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "problem.yaml": "problem_format_version: 2023-07-draft\ntype: scoring",
        "data/secret/a/1.in": "1", "data/secret/a/1.ans": "1",
        "data/secret/a/deep/2.in": "1", "data/secret/a/deep/2.ans": "1",
        "data/secret/a/test_group.yaml": "scoring: {score: 40}",
        "data/secret/b/1.in": "1", "data/secret/b/1.ans": "1",
        "data/secret/b/test_group.yaml": "scoring: {aggregation: sum}",
    }  # fmt: skip
    groups = read_package(write_package(tmp_path / "echo", files)).groups
    found = [(group.name, len(group.cases), group.points, group.aggregation) for group in groups]
    assert found == [
        ("sample", 1, 0, "min"),
        ("secret", 2, 40, "avg"),
        ("secret/a", 2, 40, "min"),
        ("secret/b", 1, 20, "avg"),
    ]


def test_constants_and_included_files(tmp_path: Path) -> None:
    package = read(
        tmp_path,
        **{
            "problem.yaml": "constants: {limit: 9}",
            "include/python3/lib.py": "most = {{limit}}",
            "include/default/table.txt": "{{other}}",
            "submissions/accepted/good.py": "import lib  # {{limit}}",
        },
    )
    assert package.submissions[0].source == "import lib  # 9"
    assert package.submissions[0].main == "good.py"
    metadata = package_row(package, time_limit_s=1, language="python")["verifier_metadata"]
    assert isinstance(metadata, dict)
    assert metadata["answer_files"] == {"lib.py": "most = 9", "table.txt": "{{other}}"}
