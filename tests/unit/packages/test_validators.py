"""Validators, points, constants and kinds of problems: what a package becomes as a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.packages.package import Package, PackageError
from sandbox_gym.packages.reader import read_package
from sandbox_gym.packages.rows import package_row
from tests.packages import write_package
from tests.unit.packages.reading import read


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
        ({"output_validators/v.adb": ""}, "has 0 output validators"),
        ({"output_validators/v/v.adb": ""}, ".adb is no language"),
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
