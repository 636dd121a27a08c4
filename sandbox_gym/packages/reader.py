"""A package's folder as values. Sources: the Kattis problem package format (legacy and 2023-07), DOMjudge's additions.

Every text is read as UTF-8, every file up to a bound; what the format has and this lacks is an error that says so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from sandbox_gym.packages.package import Case, CaseGroup, Expected, Package, PackageError, Submission, Validator
from sandbox_gym.verifiers.coding import LANGUAGES

MAX_FILE: Final = 64 << 20
EXPECTED: Final[Mapping[str, tuple[Expected, ...]]] = {
    "accepted": ("AC",),
    "wrong_answer": ("WA",),
    "time_limit_exceeded": ("TLE",),
    "run_time_error": ("RTE",),
    "memory_limit_exceeded": ("MLE",),
    "output_limit_exceeded": ("OLE",),
    "compiler_error": ("CE",),
    "partially_accepted": ("partial",),
    "rejected": ("rejected",),
}
_ANNOTATED: Final[Mapping[str, Expected]] = {
    "CORRECT": "AC",
    "ACCEPTED": "AC",
    "WRONG-ANSWER": "WA",
    "WRONG_ANSWER": "WA",
    "TIMELIMIT": "TLE",
    "TIME_LIMIT_EXCEEDED": "TLE",
    "RUN-ERROR": "RTE",
    "RUN_TIME_ERROR": "RTE",
    "MEMORY-LIMIT": "MLE",
    "OUTPUT-LIMIT": "OLE",
    "COMPILER-ERROR": "CE",
    "NO-OUTPUT": "WA",
}
_SUFFIXES: Final = {
    **{"." + language.source.rpartition(".")[2]: language.name for language in reversed(LANGUAGES)},
    ".cc": "cpp",
    ".cxx": "cpp",
    ".c++": "cpp",
    ".py": "python",
    ".py3": "python",
}


def read_package(folder: Path) -> Package:
    """The package in `folder`. Raises PackageError."""
    if not (folder / "problem.yaml").is_file():
        raise PackageError(f"{folder}: has no problem.yaml; name the folder of one problem package")
    problem = _yaml(folder / "problem.yaml")
    kinds = _kinds(problem)
    scoring, interactive = "scoring" in kinds, "interactive" in kinds
    limits = _mapping(problem.get("limits"), "limits in problem.yaml")
    root_flags = _yaml(folder / "data" / "testdata.yaml").get("output_validator_flags")
    flags = problem.get("validator_flags") or root_flags or _args(folder)
    validator = _validator(folder) if "custom" in kinds else None
    return Package(
        name=folder.resolve().name,
        statement=_statement(folder),
        groups=_groups(folder / "data", scoring=scoring),
        submissions=_submissions(folder / "submissions"),
        scoring=scoring,
        time_limit_s=_time_limit(folder, limits),
        time_multiplier=_number(limits.get("time_multiplier"), "limits.time_multiplier") or 5.0,
        memory_limit_mb=int(_number(limits.get("memory"), "limits.memory") or 2048),
        validator=validator,
        validator_flags=tuple(shlex.split(str(flags))) if flags else (),
        interactive=interactive,
    )


def _kinds(problem: Mapping[str, object]) -> set[str]:
    """Of pass-fail, scoring, custom and interactive, what the problem is, in either version of the format."""
    declared = problem.get("type") or "pass-fail"
    words = declared if isinstance(declared, list) else str(declared).split()
    kinds = {str(word) for word in words} | set(str(problem.get("validation") or "default").split())
    unknown = kinds - {"pass-fail", "scoring", "custom", "interactive", "default", "score"}
    if unknown:
        raise PackageError(f"problem.yaml: {', '.join(sorted(unknown))} problems can't be judged here")
    if "interactive" in kinds:
        kinds.add("custom")
    return kinds


def _yaml(path: Path) -> Mapping[str, object]:
    if not path.is_file():
        return {}
    try:
        return _mapping(yaml.safe_load(_text(path)), str(path))
    except yaml.YAMLError as error:
        raise PackageError(f"{path}: is no YAML ({str(error)[:200]})") from None


def _mapping(value: object, where: str) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PackageError(f"{where}: is a {type(value).__name__}; write key: value lines")
    return value


def _number(value: object, where: str) -> float | None:
    if value is None:
        return None
    try:
        number = float(str(value))
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise PackageError(f"problem.yaml: {where} is {value!r}; give a number greater than zero")
    return number


def _text(path: Path) -> str:
    if path.stat().st_size > MAX_FILE:
        raise PackageError(f"{path}: is larger than {MAX_FILE} bytes")
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise PackageError(f"{path}: is no UTF-8") from None


def _args(folder: Path) -> str:
    """The validator's arguments in the format of 2023-07."""
    found = _yaml(folder / "data" / "test_group.yaml").get("output_validator_args")
    return " ".join(str(item) for item in found) if isinstance(found, list) else str(found or "")


def _time_limit(folder: Path, limits: Mapping[str, object]) -> float | None:
    if limits.get("time_limit") is not None:
        return _number(limits["time_limit"], "limits.time_limit")
    legacy = folder / ".timelimit"
    if legacy.is_file():
        return _number(_text(legacy).strip(), ".timelimit")
    ini = folder / "domjudge-problem.ini"
    if ini.is_file():
        found = re.search(r"^\s*timelimit\s*=\s*['\"]?([\d.]+)", _text(ini), re.M)
        return _number(found[1], "timelimit in domjudge-problem.ini") if found else None
    return None


def _statement(folder: Path) -> str:
    for below in ("problem_statement", "statement"):
        found = sorted(path for path in folder.glob(f"{below}/*") if path.suffix in (".md", ".tex"))
        english = [path for path in found if ".en." in path.name]
        if found:
            return _text((english or found)[0])
    return ""


# -- data


def _groups(data: Path, *, scoring: bool) -> tuple[CaseGroup, ...]:
    """The sample, then every folder of secret cases; one group of points each where the problem is scored."""
    sample = CaseGroup("sample", _cases(data / "sample", data))
    secret = data / "secret"
    folders = [secret, *sorted(path for path in secret.rglob("*") if path.is_dir())]
    groups = [_group(folder, data, scoring=scoring) for folder in folders]
    groups = [group for group in groups if group.cases]
    if not groups:
        raise PackageError(f"{secret}: holds no case; put NAME.in and NAME.ans there")
    if scoring and not any(group.points for group in groups):
        raise PackageError(f"{secret}: a scored problem gives no points; set accept_score in testdata.yaml")
    return ((sample,) if sample.cases else ()) + tuple(groups)


def _group(folder: Path, data: Path, *, scoring: bool) -> CaseGroup:
    cases = _cases(folder, data)
    name = folder.relative_to(data).as_posix()
    if not scoring:
        return CaseGroup(name, cases)
    settings = _yaml(folder / "testdata.yaml")
    modes = str(settings.get("grader_flags") or "").split()
    score = _number(settings.get("accept_score", 1), "accept_score") or 1.0
    if "max" in modes:
        raise PackageError(f"{folder}/testdata.yaml: the max grader can't be judged here; use min, sum or avg")
    if "min" in modes:
        return CaseGroup(name, cases, score, "min")
    return CaseGroup(name, cases, score if "avg" in modes else score * len(cases), "avg")


def _cases(folder: Path, data: Path) -> tuple[Case, ...]:
    cases = []
    for given in sorted(folder.glob("*.in")):
        answer = given.with_suffix(".ans")
        if not answer.is_file():
            raise PackageError(f"{given}: has no {answer.name} beside it")
        cases.append(Case(given.relative_to(data).with_suffix("").as_posix(), _text(given), _text(answer)))
    return tuple(cases)


# -- programs


def _validator(folder: Path) -> Validator:
    """The one validator: a file, or a folder with one source and what it includes."""
    entries = [
        path for below in ("output_validators", "output_validator") for path in sorted(folder.glob(f"{below}/*"))
    ]
    if len(entries) == 1 and entries[0].is_dir():
        entries = sorted(entries[0].iterdir())
    if any(path.name in ("build", "run") for path in entries):
        raise PackageError(f"{entries[0].parent}: validators with a build or run script can't be judged here")
    sources = [path for path in entries if path.suffix in _SUFFIXES]
    if len(sources) != 1:
        raise PackageError(f"{folder}: has {len(sources)} output validators; give exactly one source")
    others = {path.name: _text(path) for path in entries if path not in sources and path.is_file()}
    return Validator(_text(sources[0]), _SUFFIXES[sources[0].suffix], others)


def _submissions(folder: Path) -> tuple[Submission, ...]:
    found: list[Submission] = []
    for below in sorted(path for path in folder.glob("*") if path.is_dir()):
        for path in sorted(below.iterdir()):
            if path.is_dir():
                raise PackageError(f"{path}: submissions of several files can't be judged here")
            if path.suffix not in _SUFFIXES:
                continue
            source = _text(path)
            expected = _annotation(source) or EXPECTED.get(below.name)
            if expected is None:
                raise PackageError(f"{below}: is no verdict; one of {', '.join(EXPECTED)}")
            found.append(Submission(f"{below.name}/{path.name}", _SUFFIXES[path.suffix], source, expected))
    return tuple(found)


def _annotation(source: str) -> tuple[Expected, ...]:
    """DOMjudge's `@EXPECTED_RESULTS@: A, B` in a comment."""
    found = re.search(r"@EXPECTED_RESULTS@:\s*([A-Z_, -]+)", source)
    words = [word.strip() for word in found[1].split(",")] if found else []
    return tuple(_ANNOTATED[word] for word in words if word in _ANNOTATED)
