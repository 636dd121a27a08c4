"""A package as a row of the coding server."""

from __future__ import annotations

from sandbox_gym.packages.flags import default_checker
from sandbox_gym.packages.package import Package, PackageError, Row, Validator
from sandbox_gym.verifiers.coding import CHECKER_MAX_MEMORY_MB, CHECKER_MAX_TIME_S


def package_row(package: Package, *, time_limit_s: float, language: str | None = None, multi_file: bool = False) -> Row:
    """A row that NeMo Gym's rollout collection takes: the statement as input, the tests as `verifier_metadata`.

    `multi_file`: answers may be of several files. Raises PackageError for flags that the default validator lacks.
    """
    metadata: Row = {
        "unit_tests": {
            "inputs": [case.given for case in package.cases],
            "outputs": [case.answer for case in package.cases],
        },
        "checker": _checker(package),
        "time_limit_s": time_limit_s,
        "memory_limit_mb": package.memory_limit_mb,
    }
    included = package.included(language or "python")
    if language is not None:
        metadata["language"] = language
    if included:
        metadata["answer_files"] = dict(included)
    if multi_file:
        metadata["multi_file"] = True
    if package.scoring:
        metadata["groups"] = [
            {"name": group.name, "tests": len(group.cases), "points": group.points, "aggregation": group.aggregation}
            for group in package.groups
        ]
    return {
        "name": package.name,
        "responses_create_params": {"input": [{"role": "user", "content": package.statement or package.name}]},
        "verifier_metadata": metadata,
    }


def _checker(package: Package) -> Row:
    """The validator, or the default one under the package's flags."""
    flags = [case.flags for case in package.cases]
    same = all(each == flags[0] for each in flags)
    if package.validator is not None:
        return _program(package, package.validator, flags, same=same)
    if not same:
        raise PackageError(f"{package.name}: cases under different flags of the default validator can't be judged here")
    return default_checker(flags[0])


def _program(package: Package, validator: Validator, flags: list[tuple[str, ...]], *, same: bool) -> Row:
    checker: Row = {"type": "program", "style": "kattis"}
    if validator.source:
        checker |= {"language": validator.language, "source": validator.source}
    checker |= {"files": dict(validator.files), "args": list(flags[0]) if same else []}
    if not same:
        checker["test_args"] = [list(each) for each in flags]
    if validator.sources:
        checker["sources"] = list(validator.sources)
    if package.passes > 1:
        checker["passes"] = package.passes
    if package.validation_time_s is not None:
        checker["time_limit_s"] = min(package.validation_time_s, CHECKER_MAX_TIME_S)
    if package.validation_memory_mb is not None:
        checker["memory_limit_mb"] = min(package.validation_memory_mb, CHECKER_MAX_MEMORY_MB)
    return {**checker, "interactive": package.interactive}
