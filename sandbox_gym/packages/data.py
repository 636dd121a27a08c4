"""The cases of a package and the groups that score them: legacy's graders, and the scoring of 2023-07."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from sandbox_gym.packages.files import Files, mapping, number, plain, words
from sandbox_gym.packages.flags import Flags
from sandbox_gym.packages.package import Case, CaseGroup, PackageError


def read_groups(files: Files, flags: Flags, *, scoring: bool, dated: bool) -> tuple[CaseGroup, ...]:
    """The sample, then every folder of secret cases; one group of points each where the problem is scored. `dated`: the
    format is 2023-07 or later."""
    data = files.root / "data"
    sample = CaseGroup("sample", _cases(files, flags, data / "sample"))
    secret = data / "secret"
    if scoring and dated:
        groups = _scored(files, flags, secret)
    else:
        found = [_group(files, flags, folder, scoring=scoring) for folder in (secret, *files.folders(secret))]
        groups = [group for group in found if group.cases]
    if not groups:
        raise PackageError(f"{files.shown(secret)}: holds no case; put NAME.in and NAME.ans there")
    if scoring and not any(group.points for group in groups):
        raise PackageError(f"{files.shown(secret)}: a scored problem gives no points; set accept_score")
    return ((sample,) if sample.cases else ()) + tuple(groups)


def _cases(files: Files, flags: Flags, folder: Path) -> tuple[Case, ...]:
    cases = []
    for given in (entry for entry in files.entries(folder) if entry.suffix == ".in"):
        answer = given.with_suffix(".ans")
        if not files.is_file(answer):
            raise PackageError(f"{files.shown(given)}: has no {answer.name} beside it")
        if files.is_folder(given.with_suffix(".files")) or files.yaml(given.with_suffix(".yaml")).get("args"):
            raise PackageError(f"{files.shown(given)}: cases with files or arguments can't be judged here")
        name = given.relative_to(files.root / "data").with_suffix("").as_posix()
        cases.append(Case(plain(name), files.text(given), files.text(answer), flags.of_case(given)))
    return tuple(cases)


# -- legacy


def _group(files: Files, flags: Flags, folder: Path, *, scoring: bool) -> CaseGroup:
    cases = _cases(files, flags, folder)
    name = plain(folder.relative_to(files.root / "data").as_posix())
    settings, where = _settings(files, folder)
    if settings.get("grading") not in (None, "default"):
        raise PackageError(f"{where}: a grader of the package's own can't be judged here")
    modes = words(settings.get("grader_flags"), f"{where}: grader_flags")
    if not scoring:
        if "always_accept" in modes or "accept_if_any_accepted" in modes:
            raise PackageError(f"{where}: a group that forgives wrong answers can't be judged here")
        return CaseGroup(name, cases)
    score = number(settings.get("accept_score", 1), f"{where}: accept_score", zero=True) or 0.0
    if number(settings.get("reject_score", 0), f"{where}: reject_score", zero=True):
        raise PackageError(f"{where}: points for wrong answers can't be judged here")
    if "max" in modes and cases:
        raise PackageError(f"{where}: the max grader can't be judged here; use min, sum or avg")
    if "min" in modes:
        return CaseGroup(name, cases, score, "min")
    return CaseGroup(name, cases, score if "avg" in modes else score * len(cases), "avg")


def _settings(files: Files, folder: Path) -> tuple[Mapping[str, object], str]:
    """Of the nearest folder that has any, and where that is."""
    while folder != files.root:
        where = folder / "testdata.yaml"
        if files.is_file(where):
            return files.yaml(where), files.shown(where)
        folder = folder.parent
    return {}, "testdata.yaml"


# -- 2023-07


def _scored(files: Files, flags: Flags, secret: Path) -> list[CaseGroup]:
    """The secret group's points, given out to its groups and cases as the format does."""
    own, where = _scoring(files, secret)
    most = _points(own, where)
    full = 100.0 if most is None else most
    loose = _cases(files, flags, secret)
    folders = [folder for folder in files.entries(secret) if files.is_folder(folder)]
    if _aggregation(own, where, "sum") == "pass-fail":
        every = loose + tuple(case for folder in folders for case in _all_cases(files, flags, folder))
        return [CaseGroup("secret", every, full, "min")] if every else []
    if _aggregation(own, where, "sum") == "min" and folders:
        raise PackageError(f"{where}: the least of several groups can't be judged here; use sum")
    given = [_points(*_scoring(files, folder)) for folder in folders]
    shared = given.count(None) + len(loose)
    share = max(0.0, full - sum(points for points in given if points is not None)) / shared if shared else 0.0
    groups = []
    if loose and _aggregation(own, where, "sum") == "min":
        groups.append(CaseGroup("secret", loose, full, "min"))
    elif loose:
        groups.append(CaseGroup("secret", loose, share * len(loose), "avg"))
    for folder, points in zip(folders, given, strict=True):
        groups.append(_subgroup(files, flags, folder, share if points is None else points))
    return [group for group in groups if group.cases]


def _subgroup(files: Files, flags: Flags, folder: Path, points: float) -> CaseGroup:
    own, where = _scoring(files, folder)
    mode = _aggregation(own, where, "pass-fail")
    if mode != "pass-fail" and files.folders(folder):
        raise PackageError(f"{where}: groups in groups can't be judged here unless the outer one is pass-fail")
    name = plain(folder.relative_to(files.root / "data").as_posix())
    aggregation: Literal["min", "avg"] = "avg" if mode == "sum" else "min"
    return CaseGroup(name, _all_cases(files, flags, folder), points, aggregation)


def _all_cases(files: Files, flags: Flags, folder: Path) -> tuple[Case, ...]:
    folders: Sequence[Path] = (folder, *files.folders(folder))
    return tuple(case for each in folders for case in _cases(files, flags, each))


def _scoring(files: Files, folder: Path) -> tuple[Mapping[str, object], str]:
    where = folder / "test_group.yaml"
    settings = files.yaml(where)
    if settings.get("static_validation"):
        raise PackageError(f"{files.shown(where)}: static validation can't be judged here")
    own = mapping(settings.get("scoring"), files.shown(where))
    if own.get("require_pass"):
        raise PackageError(f"{files.shown(where)}: require_pass can't be judged here")
    return own, files.shown(where)


def _points(own: Mapping[str, object], where: str) -> float | None:
    if own.get("score") == "unbounded":
        raise PackageError(f"{where}: unbounded scores can't be judged here")
    return number(own.get("score"), f"{where}: score", zero=True)


def _aggregation(own: Mapping[str, object], where: str, default: str) -> str:
    mode = own.get("aggregation", default)
    if mode not in ("pass-fail", "sum", "min"):
        raise PackageError(f"{where}: aggregation is no word of the format; give pass-fail, sum or min")
    return str(mode)
