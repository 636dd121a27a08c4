"""Which verdicts a submission must get: by its folder's name, by a comment in it, and by `submissions.yaml`.

Sources: the Kattis problem package format (legacy and 2023-07), DOMjudge's `@EXPECTED_RESULTS@`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sandbox_gym.packages.files import listed, mapping
from sandbox_gym.packages.package import Expected, PackageError, Rule

ANY: Final[tuple[Expected, ...]] = ("AC", "WA", "TLE", "RTE", "MLE", "OLE", "CE")
FOLDERS: Final[Mapping[str, tuple[Expected, ...]]] = {
    "accepted": ("AC",),
    "slow_accepted": ("AC", "TLE"),
    "wrong_answer": ("WA",),
    "time_limit_exceeded": ("TLE",),
    "run_time_error": ("RTE",),
    "runtime_error": ("RTE",),
    "memory_limit_exceeded": ("MLE",),
    "output_limit_exceeded": ("OLE",),
    "compiler_error": ("CE",),
    "compile_error": ("CE",),
    "partially_accepted": ("partial",),
    "rejected": ("rejected",),
    "wrong": ("rejected",),
    "brute_force": ("TLE", "RTE"),
    "mixed": ANY,
    "mixed_verdicts": ANY,
}
"""By the folder's name, with `_` for `-`."""
_LEGACY_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "slow_accepted": (),
    "time_limit_exceeded": ("WA",),
    "run_time_error": ("WA", "TLE"),
    "runtime_error": ("WA", "TLE"),
}
"""What tests may have beside, in the legacy format; 2023-07 has the expected verdicts alone."""
_SPELLINGS: Final[Mapping[Expected, str]] = {
    "AC": "CORRECT ACCEPTED AC",
    "WA": "WRONG-ANSWER WA PRESENTATION-ERROR NO-OUTPUT",
    "TLE": "TIMELIMIT TIME-LIMIT TIME-LIMIT-EXCEEDED TLE",
    "RTE": "RUN-ERROR RUN-TIME-ERROR RUNTIME-ERROR RTE",
    "MLE": "MEMORY-LIMIT MEMORY-LIMIT-EXCEEDED MLE",
    "OLE": "OUTPUT-LIMIT OUTPUT-LIMIT-EXCEEDED OLE",
    "CE": "COMPILER-ERROR COMPILE-ERROR CE",
    "rejected": "CHECK-MANUALLY",
}
_ANNOTATED: Final = {word: verdict for verdict, words in _SPELLINGS.items() for word in words.split()}
_COMMENT = re.compile(r"@EXPECTED_RESULTS@:[ \t]*([A-Za-z_, -]+)")
_VERDICTS: Final = frozenset({"AC", "WA", "TLE", "RTE"})
_DEFAULTS: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "accepted": (frozenset({"AC"}), _VERDICTS),
    "rejected": (_VERDICTS, frozenset({"RTE", "TLE", "WA"})),
    "wrong_answer": (frozenset({"AC", "WA"}), frozenset({"WA"})),
    "time_limit_exceeded": (frozenset({"AC", "TLE"}), frozenset({"TLE"})),
    "run_time_error": (frozenset({"AC", "RTE"}), frozenset({"RTE"})),
    "brute_force": (frozenset({"AC", "RTE", "TLE"}), frozenset({"RTE", "TLE"})),
}
"""What `submissions.yaml` starts from: (permitted, required)."""
_NOTHING: Final = (_VERDICTS, _VERDICTS)
_OWN_KEYS: Final = frozenset(
    {"language", "entrypoint", "authors", "model_solution", "message", "use_for_time_limit"}
    | {"permitted", "required", "score"}
)
_MAX_PATTERNS: Final = 256


@dataclass(frozen=True, slots=True)
class Listing:
    """What `submissions.yaml` says of one submission."""

    rules: tuple[Rule, ...] = ()
    language: str = ""
    entry: str = ""


def by_folder(folder: str, *, dated: bool) -> tuple[tuple[Expected, ...], tuple[str, ...]] | None:
    """(verdicts of which one must come, verdicts that may come before it); None for a folder that is no verdict."""
    name = folder.lower().replace("-", "_")
    expected = FOLDERS.get(name)
    return None if expected is None else (expected, () if dated else _LEGACY_ALSO.get(name, ()))


def by_comment(source: str) -> tuple[Expected, ...]:
    """DOMjudge's `@EXPECTED_RESULTS@: A, B`; empty where there is none."""
    found = _COMMENT.search(source)
    words = [word.strip().upper().replace("_", "-") for word in found[1].split(",")] if found else []
    return tuple(dict.fromkeys(_ANNOTATED[word] for word in words if word in _ANNOTATED))


def listing(submissions: Mapping[str, object], path: str) -> Listing:
    """What the file says of the submission at this path below `submissions`. Raises PackageError."""
    folder = path.partition("/")[0]
    matching = [(key, value) for key, value in submissions.items() if matches(key, path)]
    if not matching:
        return Listing()
    asked: list[Rule] = []
    language = entry = ""
    for key, value in matching:
        spec = mapping(value, f"submissions.yaml: {key}")
        asked += _rules(spec, key, _DEFAULTS.get(folder, _NOTHING) if key == folder else _NOTHING)
        language = _told(spec, "language", key) or language
        entry = _told(spec, "entrypoint", key) or entry
    asked = [rule for rule in asked if rule != Rule(*_NOTHING)]
    if asked and folder not in submissions and folder in _DEFAULTS:
        asked.insert(0, Rule(*_DEFAULTS[folder]))
    return Listing(tuple(asked), language, entry)


def _rules(spec: Mapping[str, object], key: str, start: tuple[frozenset[str], frozenset[str]]) -> Iterator[Rule]:
    """Of one pattern: for all tests, and for each group of tests that it names."""
    where = f"submissions.yaml: {key}"
    permitted, required = _verdicts(spec, "permitted", where, start[0]), _verdicts(spec, "required", where, start[1])
    yield Rule(permitted, required, "", _score(spec, where))
    for tests, value in spec.items():
        if tests not in _OWN_KEYS:
            inner = mapping(value, f"{where}: {tests}")
            permitted = _verdicts(inner, "permitted", where, _VERDICTS)
            yield Rule(permitted, _verdicts(inner, "required", where, _VERDICTS), tests)


def _verdicts(spec: Mapping[str, object], key: str, where: str, default: frozenset[str]) -> frozenset[str]:
    if spec.get(key) is None:
        return default
    found = frozenset(listed(spec[key], f"{where}: {key}"))
    if not found <= _VERDICTS:
        raise PackageError(f"{where}: {key} holds what is no verdict; give AC, WA, TLE or RTE")
    return found


def _score(spec: Mapping[str, object], where: str) -> tuple[float, float] | None:
    if spec.get("score") is None:
        return None
    try:
        bounds = [float(item) for item in listed(spec["score"], f"{where}: score")]
    except ValueError:
        bounds = []
    if len(bounds) not in (1, 2):
        raise PackageError(f"{where}: score is no number; give one, or the least and the most")
    return bounds[0], bounds[-1]


def _told(spec: Mapping[str, object], key: str, where: str) -> str:
    value = spec.get(key)
    if value is not None and not isinstance(value, str):
        raise PackageError(f"submissions.yaml: {where}: {key} is a {type(value).__name__}; give a text")
    return value or ""


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern of `submissions.yaml` names this path or a folder above it: `*` stays within a name, `{a,b}`
    stands for either."""
    parts = path.split("/")
    return any(
        len(words) <= len(parts) and all(map(_like, words, parts))
        for words in (one.split("/") for one in _expanded(pattern))
    )


def _like(pattern: str, name: str) -> bool:
    """Whether a name is as a pattern has it. Linear: what stands between stars is looked for from left to right."""
    first, *middle = pattern.split("*")
    if not middle:
        return pattern == name
    *middle, last = middle
    if not name.startswith(first) or not name.endswith(last) or len(name) < len(first) + len(last):
        return False
    start, end = len(first), len(name) - len(last)
    for piece in middle:
        found = name.find(piece, start, end)
        if found < 0:
            return False
        start = found + len(piece)
    return True


@lru_cache(maxsize=1024)
def _expanded(pattern: str) -> tuple[str, ...]:
    patterns = [pattern.strip("/")]
    while any("{" in one for one in patterns) and len(patterns) <= _MAX_PATTERNS:
        spread = [each for one in patterns for each in _spread(one)]
        if spread == patterns:
            break
        patterns = spread
    return tuple(patterns)


def _spread(pattern: str) -> list[str]:
    """The first innermost braces of a pattern replaced by each of their words."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if not found:
        return [pattern]
    return [pattern[: found.start()] + word + pattern[found.end() :] for word in found[1].split(",")]
