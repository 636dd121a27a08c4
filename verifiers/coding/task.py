"""A coding row as values: its tests, its language, its caps, and how its output is judged and scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits, mebibytes
from sandbox_gym.verifiers.coding.answers.folders import is_path
from sandbox_gym.verifiers.coding.compare import COMPARISONS, Comparison
from sandbox_gym.verifiers.coding.fields import ROOT, choice, flag, mapping, positive, text, texts, wrong
from sandbox_gym.verifiers.coding.functions.reference import ReferenceTests
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests, FunctionTests, StdinTests, Tests, parse_tests
from sandbox_gym.verifiers.coding.functions.split import why_not_isolated
from sandbox_gym.verifiers.coding.languages import PYTHON, Language, known_language
from sandbox_gym.verifiers.coding.running.checkers import Checker, ProgramChecker, TextChecker, parse_checker
from sandbox_gym.verifiers.coding.running.programs import encoded
from sandbox_gym.verifiers.coding.scoring import Scoring, parse_scoring
from sandbox_gym.verifiers.coding.tamper import SIGNS, unknown_sign
from sandbox_gym.verifiers.wellformed import must_be_text

InProcess = Literal["allow", "mask", "deny"]
"""What becomes of an answer whose test must share its process: judged, no verdict, or no such row."""
Processes = Literal["auto", "own", "alone"]
"""`alone`: `own`, and no program can tell that it is; for what is run again."""


@dataclass(frozen=True, slots=True)
class CodingTask:
    """One row, ready to be planned."""

    tests: Tests
    limits: Limits
    language: Language = PYTHON
    early_stop: bool = True
    checker: Checker = TextChecker()
    scoring: Scoring = Scoring()
    difficulty: str | None = None
    multi_file: bool = False
    """An answer may be several fenced blocks that name their files."""
    answer_files: Mapping[str, str] = field(default_factory=dict)
    """Files of the row that lie beside the answer's, in place of its own of these names."""
    fail_on_tamper: frozenset[str] = frozenset()
    """Signs of tampering that cost the reward; "any" stands for all."""
    in_process: InProcess = "allow"
    """Whether a test that can't be parted from the answer may share its process."""
    comparison: Comparison = "exact"
    """How a function's values are compared."""
    processes: Processes = "auto"
    """Whether tests may be run in one process in turn, or each has one of its own."""
    dialogue: bool = False
    """Whether a check is run as its text has it, though values alone might settle it."""
    secret: str = ""
    """The server's own: which variants of a test are run over an answer, and when, comes from it."""
    seed: str = ""
    """What it came from where a record is judged again."""

    @property
    def tolerance(self) -> float | None:
        """How far apart numbers of a function's value may be."""
        return self.checker.absolute if isinstance(self.checker, TextChecker) else None


def parse_task(
    verifier_metadata: object,
    *,
    limits: Limits,
    early_stop: bool,
    fail_on_tamper: frozenset[str] = frozenset(),
    in_process: InProcess = "allow",
    comparison: Comparison = "exact",
    processes: Processes = "auto",
    secret: str = "",
) -> CodingTask:
    """The row's task; its limits only tighten `limits`. Raises RequestError naming the field."""
    row = mapping(verifier_metadata, ROOT, "give an object with unit_tests, or with test and entry_point")
    must_be_text(row, ROOT)
    language, checker = known_language(row.get("language"), f"{ROOT}.language"), parse_checker(row)
    tests = parse_tests(row, outputs_may_be_blank=isinstance(checker, ProgramChecker))
    if not isinstance(tests, StdinTests):
        _only_python(row, language)
    if isinstance(tests, CheckTests) and in_process == "deny" and (why := why_not_isolated(tests)):
        remedy = "this server runs no test in the answer's process (in_process: deny)"
        raise RequestError(f"{ROOT}.test", f"can't be kept apart from the answer: {why}", remedy)
    _one_of_each(checker, _count(tests))
    _must_be_printable(checker, tests, limits)
    beside, multi_file = _answer_files(row, tests)
    time_limit_s = positive(row, "time_limit_s")
    memory_mb = positive(row, "memory_limit_mb")
    if memory_mb is not None and memory_mb < 16:
        raise wrong(f"{ROOT}.memory_limit_mb", memory_mb, "an interpreter needs at least 16")
    difficulty = row.get("difficulty")
    return CodingTask(
        tests=tests,
        limits=limits.tightened(
            cpu_time_s=time_limit_s,
            wall_time_s=3 * time_limit_s + 2 if time_limit_s else None,
            memory_bytes=mebibytes(memory_mb) if memory_mb else None,
        ),
        language=language,
        early_stop=flag(row, "early_stop", default=early_stop),
        checker=checker,
        scoring=parse_scoring(row, _count(tests)),
        difficulty=difficulty if isinstance(difficulty, str) else None,
        in_process=in_process,
        multi_file=multi_file,
        answer_files=beside,
        secret=secret,
        seed=text(row, "inversion_seed"),
        processes=cast(Processes, choice(row, "processes", (processes, "auto", "own"))),
        comparison=cast(Comparison, choice(row, "comparison", (comparison, *COMPARISONS))),
        fail_on_tamper=fail_on_tamper | _costly(row.get("fail_on_tamper")),
    )


def _costly(value: object) -> frozenset[str]:
    """The signs that a row's `fail_on_tamper` names."""
    names = () if value is None else texts(value, f"{ROOT}.fail_on_tamper")
    if (unknown := unknown_sign(names, SIGNS)) is not None:
        raise wrong(f"{ROOT}.fail_on_tamper", unknown[0], f"no sign of tampering has that name: {unknown[1]}")
    return frozenset(names)


def _must_be_printable(checker: Checker, tests: Tests, limits: Limits) -> None:
    """Raises RequestError for an expected output that is longer than what a program may print."""
    compared = isinstance(tests, StdinTests) and not isinstance(checker, ProgramChecker)
    for index, output in enumerate(tests.outputs if isinstance(tests, StdinTests) and compared else ()):
        if 4 * len(output) > limits.stdout_bytes and len(encoded(output)) > limits.stdout_bytes:
            problem = f"has {len(encoded(output))} bytes; a program may print {limits.stdout_bytes}"
            raise RequestError(f"{ROOT}.unit_tests.outputs[{index}]", problem, "leave the test out")


def _one_of_each(checker: Checker, tests: int) -> None:
    """Raises RequestError where the checker's arguments are not one list for each test."""
    if isinstance(checker, ProgramChecker) and checker.test_args and len(checker.test_args) != tests:
        problem = f"has {len(checker.test_args)} entries for {tests} tests"
        raise RequestError(f"{ROOT}.checker.test_args", problem, "give a list of arguments for each test")


def _answer_files(row: Mapping[str, object], tests: Tests) -> tuple[Mapping[str, str], bool]:
    """`answer_files` and `multi_file`: for programs alone."""
    multi_file = flag(row, "multi_file")
    value = mapping(row.get("answer_files") or {}, f"{ROOT}.answer_files", "give an object of names and texts")
    for path, content in value.items():
        if not isinstance(content, str) or not is_path(path):
            raise wrong(f"{ROOT}.answer_files", path, "give names of files below the answer's folder, and texts")
    if (multi_file or value) and not isinstance(tests, StdinTests):
        raise wrong(f"{ROOT}.multi_file", multi_file, "only programs may have several files; leave it out")
    return {path: str(content) for path, content in value.items()}, multi_file or bool(value)


def _only_python(row: Mapping[str, object], language: Language) -> None:
    """Functions are called in Python and judged by value."""
    if not language.forks:
        raise wrong(f"{ROOT}.language", row.get("language"), "functions are tested in python; give stdin tests")
    if row.get("checker") is not None:
        raise RequestError(
            f"{ROOT}.checker", "is given beside tests of a function", "checkers go with stdin tests only"
        )


def _count(tests: Tests) -> int:
    if isinstance(tests, StdinTests):
        return len(tests.inputs)
    return len(tests.calls) if isinstance(tests, FunctionTests | ReferenceTests) else 1
