"""Checkers and interactors: how they are started, and what their end says. Kattis's and testlib's conventions.

Kattis (ICPC output validator): `program input answer feedback/ [args]`, the output on stdin, exit 42 right, 43 wrong,
`feedback/score.txt` and `feedback/judgemessage.txt` beside. testlib: `program input output answer [args]`, exit 0 is
right, 1 wrong, 2 and 4 presentation, 3 failed, 5 or 7 with `points X` on stderr, 16 + percent partial.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, replace

from sandbox_gym.contract import Build, Checked, Dialogue, Outcome, Passes, Program, Run, Status, Step, TestStatus
from sandbox_gym.errors import ToolchainMissing
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.verifiers.coding.checkers import ProgramChecker
from sandbox_gym.verifiers.coding.languages import Language
from sandbox_gym.verifiers.coding.programs import COMPILE_LIMITS, encoded, in_judges_box, program_of

OUTPUT = "output"
KEPT = "kept"
CHECKER_BYTES = 2048 * MIB
"""Memory that a checker may take whatever the row's cap is, which is the answer's: what an answer prints must not be
able to end its checker."""
OUTPUT_BYTES = 6 * MIB
"""What an answer may print in one of several passes: a checker can keep all of it, twice."""
_KATTIS = (
    "mkdir feedback; test ! -f kept || tar -xf kept -C feedback;"
    " {join} {{ {run}; echo $? >code; }} | tail -c 1000 >words; code=$(cat code);"
    " {{ cat words;"
    ' echo; echo "$0"; head -c 64 feedback/score.txt; echo; head -c 500 feedback/judgemessage.txt; }} >&2 2>/dev/null;'
    " {ask} exit $code"
)
"""A validator's own words are cut: it may repeat what it judges."""
_RUN = ("", '"$@" 2>&1 >/dev/null')
_INTERACT = ("exec 4>&1;", '"$@" 2>&1 >&4 4>&-')
_ASK = (
    "if test $code = 42 && test -f feedback/nextpass.in; then"
    " { wc -c <feedback/nextpass.in; cat feedback/nextpass.in; rm feedback/nextpass.in; tar -cf - -C feedback .; } >&3;"
    " fi;"
)
_TREE = "validator.tar"
_BUILD = (
    "chmod +x build; ./build </dev/null >&2 || exit 1;"
    ' test -f run || { echo "the build script left no file called run" >&2; exit 1; }; exec tar -cf - .'
)
_SCRIPT = (
    'here=$PWD first=$PWD/$1 second=$PWD/$2 third=$PWD/$3; shift 3; test ! -f "$0" ||'
    ' { mkdir -p program && tar -xf "$0" -C program; }; cd program && chmod +x run'
    ' && exec ./run "$first" "$second" "$third" "$@"'
)
_POINTS = re.compile(rb"points (-?\d+(?:\.\d+)?)")
_TAIL = 4096


@dataclass(frozen=True, slots=True)
class CheckerPlan:
    """A row's checker, ready to judge one test after another."""

    checker: ProgramChecker
    run: Run
    builds: tuple[Build, ...]

    def step(self, test: int, answer: Run, given: str, expected: str) -> Step:
        """The answer's run on one input, with the checker that has the expected output."""
        secret = {"input": encoded(given), "answer": encoded(expected)}
        program, name = self.run.program, answer.name
        argv = (*program.argv, *self.checker.args_of(test))
        program = replace(program, argv=argv, files={**program.files, **secret})
        run = replace(self.run, name=f"{name}-checker", program=program)
        passes = Passes(self.checker.passes, kept_file=KEPT) if self.checker.passes > 1 else None
        answer = replace(answer, limits=answers_limits(self.checker, answer.limits))
        if self.checker.interactive:
            return Dialogue(name, asker=run, candidate=replace(answer, stdin=b""), channel="stdio", passes=passes)
        return Checked(name, answer, run, output_file=OUTPUT if self.checker.style == "testlib" else "", passes=passes)


def answers_limits(checker: ProgramChecker, limits: Limits) -> Limits:
    """An answer's caps beside this checker."""
    if checker.passes == 1:
        return limits
    return replace(limits, stdout_bytes=min(limits.stdout_bytes, OUTPUT_BYTES))


def checker_plan(checker: ProgramChecker, limits: Limits) -> CheckerPlan:
    """How the row's checker is compiled and started. It outwaits the answer, so that whose time was up is clear."""
    patient = replace(
        limits,
        cpu_time_s=limits.cpu_time_s + 10,
        wall_time_s=limits.wall_time_s + 10,
        memory_bytes=max(limits.memory_bytes, CHECKER_BYTES),
    )
    patient = checker.language.limits(patient)
    program, build = _scripts(checker) if checker.scripted else _compiled(checker, patient)
    if checker.style == "kattis":
        names: tuple[str, ...] = ("input", "answer", "feedback/")
        shell: tuple[str, ...] = ("/bin/sh", "-c", _kattis(checker), _mark(checker))
    else:
        names = ("input", "tout", "answer") if checker.interactive else ("input", OUTPUT, "answer")
        shell = ()
    program = replace(program, argv=(*shell, *program.argv, *names), captures=checker.passes > 1)
    return CheckerPlan(checker, Run("checker", program, limits=patient), in_judges_box(build))


def _compiled(checker: ProgramChecker, limits: Limits) -> tuple[Program, Build | None]:
    """A source with the files beside it. Python finds its own modules there, which its isolated mode hides."""
    files = {path: encoded(content) for path, content in checker.files.items()}
    return program_of(
        checker.language, checker.source, limits, "checker", files, further=checker.sources, beside=bool(files)
    )


def _scripts(checker: ProgramChecker) -> tuple[Program, Build | None]:
    """A folder with a `build` script, a `run` script, or both: built once, run in a copy of the folder."""
    files = {path: encoded(content) for path, content in checker.files.items()}
    argv = ("/bin/sh", "-c", _SCRIPT, _TREE)
    if "build" not in files:
        return Program("exec", {f"program/{path}": content for path, content in files.items()}, argv=argv), None
    builder = Program("exec", files, main="build", argv=("/bin/sh", "-c", _BUILD))
    build = Build("checker", Run("build checker", builder, limits=COMPILE_LIMITS), _TREE)
    return Program("exec", {}, argv=argv, needs=(build.name,)), build


def _kattis(checker: ProgramChecker) -> str:
    """The shell's part in a validator's run: its feedback folder, from pass to pass, and what it left there."""
    join, run = _INTERACT if checker.interactive else _RUN
    if checker.passes == 1:
        return _KATTIS.format(join=join, run=run, ask="")
    return _KATTIS.format(join=join, run=f"{run} 3>&-", ask=_ASK)


def _mark(checker: ProgramChecker) -> str:
    """What parts a checker's own words from its score. Only who knows the checker's source can say it."""
    files = [part for path in sorted(checker.files) for part in (path, checker.files[path])] if checker.scripted else []
    return hashlib.sha256(b"score of " + encoded("\0".join((checker.source, *files)))).hexdigest()


def judge_checker(checker: ProgramChecker, outcome: Outcome) -> tuple[TestStatus, str, float]:
    """(status, why, score from 0 to 1) of a checker's end; CHECKER_FAILED for any end that its convention lacks."""
    if outcome.status is Status.START_ERROR:
        raise missing(checker.language)
    ended_by_itself = outcome.status in (Status.OK, Status.RUNTIME_ERROR) and outcome.exit_code is not None
    if ended_by_itself and checker.style == "kattis" and outcome.exit_code in (42, 43):
        return _judge_kattis(checker, outcome)
    if ended_by_itself and checker.style == "testlib":
        found = _judge_testlib(checker, outcome)
        if found is not None:
            return found
    last = outcome.stderr[-_TAIL:].partition(_mark(checker).encode())[0].decode("utf-8", "replace").strip()
    how = f"exit code {outcome.exit_code}" if ended_by_itself else outcome.status.value
    return TestStatus.CHECKER_FAILED, f"the checker ended with {how}: {last[-200:]}".rstrip(": "), 0.0


def _judge_kattis(checker: ProgramChecker, outcome: Outcome) -> tuple[TestStatus, str, float]:
    said = outcome.stderr[-_TAIL:].rpartition(_mark(checker).encode())[2].decode("utf-8", "replace").removeprefix("\n")
    score_text, _, message = said.partition("\n")
    if outcome.exit_code == 43:
        return TestStatus.WRONG_ANSWER, message.strip()[:300] or "the checker denies it", 0.0
    if checker.passes > 1 and outcome.channel:
        return TestStatus.WRONG_ANSWER, f"the checker wants a pass after the last of {checker.passes}", 0.0
    score = _score(score_text, checker.full_score)
    if score is None:
        return TestStatus.PASSED, "", 1.0
    return _scored(score, message.strip()[:300])


def _judge_testlib(checker: ProgramChecker, outcome: Outcome) -> tuple[TestStatus, str, float] | None:
    code, said = outcome.exit_code or 0, outcome.stderr[-_TAIL:].decode("utf-8", "replace").strip()[:300]
    if code == 0:
        return TestStatus.PASSED, "", 1.0
    if code in (1, 8):
        return TestStatus.WRONG_ANSWER, said or "the checker denies it", 0.0
    if code in (2, 4):
        return TestStatus.PRESENTATION_ERROR, said or "the checker can't read the output", 0.0
    points = _POINTS.search(outcome.stderr[-_TAIL:])
    if code in (5, 7) and points:
        return _scored(max(0.0, min(1.0, float(points[1]) / checker.full_score)), said)
    if 16 <= code <= 116:
        return _scored((code - 16) / 100, said)
    return None


def _score(text: str, full: float) -> float | None:
    """A score as a share of the full one; None where there is none."""
    try:
        value = float(text.strip())
    except ValueError:
        return None
    return max(0.0, min(1.0, value / full)) if math.isfinite(value) else None


def _scored(score: float, message: str) -> tuple[TestStatus, str, float]:
    if score == 1.0:
        return TestStatus.PASSED, "", 1.0
    return TestStatus.WRONG_ANSWER, f"scored {score:g}{': ' if message else ''}{message}", score


def missing(language: Language) -> ToolchainMissing:
    """No verdict: the box lacks what the language needs."""
    return ToolchainMissing(
        f"the sandboxes have no {language.toolchain} for {language.name}; run `apt-get install {language.package}`"
        " on this machine, or use the docker provider with the polyglot image"
    )
