"""Declares how a program's output is judged: by a rule for text, or by a program of the row.

Sources: LiveCodeBench's stdio grader (`lines`), Kattis's default output validator and its flags (`tokens`, `float`),
the ICPC output validator and testlib's checkers and interactors (programs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.answers.folders import is_path
from sandbox_gym.verifiers.coding.fields import ROOT, choice, flag, mapping, positive, text, texts, wrong
from sandbox_gym.verifiers.coding.languages import Language, language_named

FIELD = f"{ROOT}.checker"
_TEXT_TYPES = ("lines", "exact", "tokens", "float", "unordered_lines")
MAX_SOURCE = 4 << 20
MAX_PASSES = 100
MEMORY_MB = 2048.0
"""Memory of a checker whose row says nothing, as in Kattis' problem packages (validation_memory)."""
CHECKER_MAX_MEMORY_MB = 8192
CHECKER_MAX_TIME_S = 300
SCRIPTS = ("build", "run")
"""Shell scripts (`run` may be any program that `build` makes) that stand for a source."""


@dataclass(frozen=True, slots=True)
class TextChecker:
    """A rule for text. `lines`: LiveCodeBench's; `exact`: byte for byte; `tokens`: words, white space between them of
    any kind; `unordered_lines`: the same lines in any order."""

    kind: Literal["lines", "exact", "tokens", "unordered_lines"] = "lines"
    case_sensitive: bool = True
    space_sensitive: bool = False
    """Tokens: the white space must be the same too."""
    absolute: float | None = None
    """Numbers may differ by so much, or"""
    relative: float | None = None
    """by this share of the expected number."""
    presentation_errors: bool = False
    """Output that is right but for its white space is a presentation error, not a pass."""


@dataclass(frozen=True, slots=True)
class ProgramChecker:
    """A program that judges, in a box of its own. `kattis`: `checker input answer feedback/ [args] < output`, exit 42
    right, 43 wrong; `testlib`: `checker input output answer [args]`, exit 0 right. `interactive`: it exchanges input
    and output with the answer's program instead."""

    source: str
    """Empty where scripts among `files` build and run it."""
    language: Language
    style: Literal["kattis", "testlib"] = "kattis"
    args: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files beside the source, as testlib.h."""
    sources: tuple[str, ...] = ()
    """Those of `files` that are compiled together with the source."""
    interactive: bool = False
    full_score: float = 1.0
    """A score that the program gives counts as a share of this."""
    test_args: tuple[tuple[str, ...], ...] = ()
    """Arguments for each test, in place of `args`."""
    passes: int = 1
    """How often the answer may run on one test; from the second time on, on what the checker wrote to nextpass.in."""
    time_limit_s: float | None = None
    """CPU time of its own; without it the answer's and some more."""
    memory_limit_mb: float = MEMORY_MB
    judging_errors: bool = False
    """Kattis' convention: no verdict where the checker ends outside its convention. Else such an end is a wrong answer,
    unless the checker fails without the answer too."""

    @property
    def scripted(self) -> bool:
        return not self.source

    def args_of(self, test: int) -> tuple[str, ...]:
        return self.test_args[test] if self.test_args else self.args


Checker = TextChecker | ProgramChecker


def parse_checker(row: Mapping[str, object]) -> Checker:
    """The row's `checker`: a type's name or an object; `float_tolerance` alone makes `lines` tolerant."""
    tolerance = positive(row, "float_tolerance", zero=True)
    value = row.get("checker")
    if value is None:
        return TextChecker(absolute=tolerance, relative=tolerance)
    if isinstance(value, str):
        value = {"type": value}
    spec = mapping(value, FIELD, f"give one of {', '.join((*_TEXT_TYPES, 'program'))}, or an object with a type")
    kind = choice(spec, "type", (*_TEXT_TYPES, "program"), FIELD)
    return _program(spec) if kind == "program" else _text(spec, kind, tolerance)


def _text(spec: Mapping[str, object], kind: str, tolerance: float | None) -> TextChecker:
    either = _first(positive(spec, "float_tolerance", FIELD, zero=True), tolerance)
    absolute = _first(positive(spec, "float_absolute_tolerance", FIELD, zero=True), either)
    relative = _first(positive(spec, "float_relative_tolerance", FIELD, zero=True), either)
    if kind == "float":
        kind = "tokens"
        if absolute is None and relative is None:
            absolute = relative = 1e-6
    if kind in ("exact", "unordered_lines") and (absolute or relative):
        remedy = "use lines, tokens or float with a tolerance"
        raise RequestError(f"{FIELD}.float_tolerance", f"does not go with {kind}", remedy)
    if kind == "lines" and absolute != relative:
        remedy = "give float_tolerance for both, or use float or tokens"
        raise RequestError(f"{FIELD}.float_absolute_tolerance", "and the relative one differ for lines", remedy)
    return TextChecker(
        kind=cast(Literal["lines", "exact", "tokens", "unordered_lines"], kind),
        case_sensitive=flag(spec, "case_sensitive", FIELD, default=True),
        space_sensitive=flag(spec, "space_sensitive", FIELD),
        absolute=absolute,
        relative=relative,
        presentation_errors=flag(spec, "presentation_errors", FIELD),
    )


def _first(*tolerances: float | None) -> float | None:
    """The first value that is not None."""
    return next((tolerance for tolerance in tolerances if tolerance is not None), None)


def _program(spec: Mapping[str, object]) -> ProgramChecker:
    source, files = text(spec, "source", FIELD), _files(spec)
    scripted = not source.strip() and any(script in files for script in SCRIPTS)
    if not source.strip() and not scripted:
        raise RequestError(f"{FIELD}.source", "is missing", "give the checker's source, or a run script among files")
    if len(source) + sum(map(len, files.values())) > MAX_SOURCE:
        raise RequestError(f"{FIELD}.source", "is too long", f"keep sources below {MAX_SOURCE} characters")
    style = cast(Literal["kattis", "testlib"], choice(spec, "style", ("kattis", "testlib"), FIELD))
    return ProgramChecker(
        source="" if scripted else source,
        language=_language(spec, scripted),
        style=style,
        args=texts(spec.get("args") or [], f"{FIELD}.args"),
        files=files,
        sources=_sources(spec, files),
        interactive=flag(spec, "interactive", FIELD),
        full_score=positive(spec, "full_score", FIELD) or 1.0,
        test_args=_test_args(spec),
        passes=_passes(spec, style),
        time_limit_s=_at_most(spec, "time_limit_s", CHECKER_MAX_TIME_S),
        memory_limit_mb=_at_most(spec, "memory_limit_mb", CHECKER_MAX_MEMORY_MB) or MEMORY_MB,
        judging_errors=flag(spec, "judging_errors", FIELD),
    )


def _at_most(spec: Mapping[str, object], name: str, most: float) -> float | None:
    value = positive(spec, name, FIELD)
    if value is not None and value > most:
        raise wrong(f"{FIELD}.{name}", value, f"give at most {most}")
    return value


def _language(spec: Mapping[str, object], scripted: bool) -> Language:
    name = "bash" if scripted else text(spec, "language", FIELD) or "python"
    language = language_named(name)
    if language is None:
        raise wrong(f"{FIELD}.language", name, "give a language that `sandbox-gym doctor` lists")
    return language


def _files(spec: Mapping[str, object]) -> Mapping[str, str]:
    files = mapping(spec.get("files") or {}, f"{FIELD}.files", "give an object of names and texts")
    for path, content in files.items():
        plain = "/" not in path and path not in ("", ".", "..")
        if not isinstance(content, str) or not (plain or is_path(path)):
            raise wrong(f"{FIELD}.files", path, "give names of files below the source's folder, and texts")
    return {path: str(content) for path, content in files.items()}


def _sources(spec: Mapping[str, object], files: Mapping[str, str]) -> tuple[str, ...]:
    named = texts(spec.get("sources") or [], f"{FIELD}.sources")
    for name in named:
        if name not in files or not is_path(name):
            raise wrong(f"{FIELD}.sources", name, "name files of `files`")
    return named


def _test_args(spec: Mapping[str, object]) -> tuple[tuple[str, ...], ...]:
    value = spec.get("test_args")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise wrong(f"{FIELD}.test_args", value, "give a list of arguments for each test")
    return tuple(texts(args, f"{FIELD}.test_args[{index}]") for index, args in enumerate(value))


def _passes(spec: Mapping[str, object], style: str) -> int:
    value = spec.get("passes", 1)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_PASSES:
        raise wrong(f"{FIELD}.passes", value, f"give a whole number from 1 to {MAX_PASSES}")
    if value > 1 and style != "kattis":
        raise wrong(f"{FIELD}.passes", value, "only checkers of style kattis ask for another pass")
    return value
