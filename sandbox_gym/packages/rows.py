"""A package as a row of the coding server."""

from __future__ import annotations

from sandbox_gym.packages.package import Package, PackageError
from sandbox_gym.server.wire import Document

_TOLERANCES = {
    "float_tolerance": "float_tolerance",
    "float_absolute_tolerance": "float_absolute_tolerance",
    "float_relative_tolerance": "float_relative_tolerance",
}


def package_row(package: Package, *, time_limit_s: float, language: str | None = None) -> Document:
    """A row that NeMo Gym's rollout collection takes: the statement as input, the tests as `verifier_metadata`."""
    metadata: Document = {
        "unit_tests": {
            "inputs": [case.given for case in package.cases],
            "outputs": [case.answer for case in package.cases],
        },
        "checker": _checker(package),
        "time_limit_s": time_limit_s,
        "memory_limit_mb": package.memory_limit_mb,
    }
    if language is not None:
        metadata["language"] = language
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


def _checker(package: Package) -> Document:
    """The validator, or the default one under the package's flags."""
    if package.validator is not None:
        return {
            "type": "program",
            "style": "kattis",
            "language": package.validator.language,
            "source": package.validator.source,
            "files": dict(package.validator.files),
            "args": list(package.validator_flags),
            "interactive": package.interactive,
        }
    checker: Document = {"type": "tokens", "case_sensitive": False}
    flags = list(package.validator_flags)
    while flags:
        flag = flags.pop(0)
        if flag == "case_sensitive":
            checker["case_sensitive"] = True
        elif flag == "space_change_sensitive":
            checker["space_sensitive"] = True
        elif flag in _TOLERANCES and flags:
            checker[_TOLERANCES[flag]] = _tolerance(flags.pop(0))
        else:
            raise PackageError(f"problem.yaml: validator_flags has {flag!r}, which the default validator lacks")
    return checker


def _tolerance(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise PackageError(f"problem.yaml: validator_flags has {word!r} where a number belongs") from None
