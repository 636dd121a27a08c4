"""Checkers and interactors: how they are started, and what their end says. Kattis's and testlib's conventions.

Kattis (ICPC output validator): `program input answer feedback/ [args]`, the output on stdin, exit 42 right, 43 wrong,
`feedback/score.txt` and `feedback/judgemessage.txt` beside. testlib: `program input output answer [args]`, exit 0 is
right, 1 wrong, 2 and 4 presentation, 3 failed, 5 or 7 with `points X` on stderr, N with `partially correct (N)` there,
of 200, 16 + percent partial.
"""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass, replace

from sandbox_gym.contract import (
    Build,
    Checked,
    Dialogue,
    Outcome,
    Passes,
    Program,
    Run,
    SelfTest,
    Status,
    Step,
    TestStatus,
)
from sandbox_gym.errors import Starved, ToolchainMissing
from sandbox_gym.limits import MIB, Limits, mebibytes
from sandbox_gym.verifiers.coding.diagnostics import plain
from sandbox_gym.verifiers.coding.languages import Language
from sandbox_gym.verifiers.coding.running.checkers import ProgramChecker
from sandbox_gym.verifiers.coding.running.programs import COMPILE_LIMITS, encoded, in_judges_box, program_of

OUTPUT = "output"
KEPT = "kept"
CHECKER_S = 10.0
"""CPU and wall time beyond the answer's, for a checker whose row gives it none of its own."""
SILENT_S = 4.0
"""So long an interactor must live with a partner that says nothing: one that is broken does not, or spins."""
_AFTER_S = 0.2
"""For its end, when the partner has left."""
_WAITING_S = 0.5
"""CPU time, beside what a language takes to start, beyond which an interactor was not waiting."""
_SILENT = '( sleep "$0" & ) | "$@"'
_EXIT_CODES = {"kattis": (42, 43), "testlib": (0, 1, 2, 4, 5, 7, 8, *range(16, 117))}
"""By which each style says what it found. Not testlib's 3, "the jury's answer is worse": an answer can claim that, and
the row is at fault only where the checker does not take its own output."""
_CPU_TIME_OVER = 128 + 24
"""A shell's word for a program that the kernel ended at its cap of CPU time, which the supervisor was about to do."""
_STARVED_S = 0.5
_STARVED_SHARE = 0.2
OUTPUT_BYTES = 6 * MIB
"""What an answer may print in one of several passes: a checker can keep all of it, twice."""
_KATTIS = (
    "mkdir feedback; test ! -f kept || tar -xf kept -C feedback;"
    " {join} {{ {run}; echo $? >code; }} | tail -c 1000 >words; code=$(cat code);"
    " if test $code = 42 && test -s feedback/score.txt && test ! -f feedback/nextpass.in; then"
    " head -c 300 feedback/score.txt | head -n 1 | LC_ALL=C grep -Eq {number} || code={no_score}; fi;"
    " {{ cat words;"
    ' echo; echo "$0"; head -c 300 feedback/score.txt; echo; head -c 500 feedback/judgemessage.txt; }} >&2 2>/dev/null;'
    " {ask} exit $code"
)
"""A validator's own words are cut: it may repeat what it judges. A score that is no number is an end of its own."""
_NO_SCORE = 44
_NUMBER = r"'^[[:space:]]*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[[:space:]]*$'"
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
_POINTS = re.compile(rb"^points (-?\d+(?:\.\d+)?|[-+]?(?:nan|inf)\b)", re.M)
_PARTLY = re.compile(rb"^partially correct \((\d{1,3})\)", re.M)
_PARTS = 200
_WRONG = (1, 2, 4, 8)
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
        file = OUTPUT if self.checker.style == "testlib" else ""
        own = SelfTest(_alone(run) if self.checker.interactive else _fed(run, file, encoded(expected)), self._codes)
        if self.checker.interactive:
            candidate = replace(answer, stdin=b"")
            return Dialogue(name, asker=run, candidate=candidate, channel="stdio", passes=passes, self_test=own)
        return Checked(name, answer, run, output_file=file, passes=passes, self_test=own)

    @property
    def _codes(self) -> tuple[int, ...]:
        return _EXIT_CODES[self.checker.style]


def _fed(run: Run, file: str, output: bytes) -> Run:
    """A run of the checker on the row's own output."""
    if not file:
        return replace(run, stdin=output)
    return replace(run, program=replace(run.program, files={**run.program.files, file: output}))


def _alone(run: Run) -> Run:
    """A run of the interactor with a partner that is silent for a while and then ends."""
    argv = ("/bin/sh", "-c", _SILENT, f"{SILENT_S:g}", *run.program.argv)
    limits = replace(run.limits, wall_time_s=SILENT_S + _AFTER_S)
    return replace(run, program=replace(run.program, argv=argv), limits=limits)


def answers_limits(checker: ProgramChecker, limits: Limits) -> Limits:
    """An answer's caps beside this checker."""
    if checker.passes == 1:
        return limits
    return replace(limits, stdout_bytes=min(limits.stdout_bytes, OUTPUT_BYTES))


def checker_plan(checker: ProgramChecker, limits: Limits) -> CheckerPlan:
    """How the row's checker is compiled and started. It has its own caps, so that the answer's output can't end it, and
    it outlives the answer, so that a timeout is the answer's without doubt."""
    cpu_time_s = checker.time_limit_s or limits.cpu_time_s + CHECKER_S
    patient = replace(
        limits,
        cpu_time_s=cpu_time_s,
        wall_time_s=max(limits.wall_time_s, 2 * cpu_time_s) + CHECKER_S,
        memory_bytes=max(limits.memory_bytes, mebibytes(checker.memory_limit_mb)),
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
    """The shell part of a validator's run: its feedback folder, carried from pass to pass, and its files."""
    join, run = _INTERACT if checker.interactive else _RUN
    if checker.passes == 1:
        return _KATTIS.format(join=join, run=run, ask="", number=_NUMBER, no_score=_NO_SCORE)
    return _KATTIS.format(join=join, run=f"{run} 3>&-", ask=_ASK, number=_NUMBER, no_score=_NO_SCORE)


def _mark(checker: ProgramChecker) -> str:
    """The text that separates a checker's messages from its score. It depends on the checker's source, which the answer
    does not know."""
    files = [part for path in sorted(checker.files) for part in (path, checker.files[path])] if checker.scripted else []
    return hashlib.sha256(b"score of " + encoded("\0".join((checker.source, *files)))).hexdigest()


def judge_checker(
    checker: ProgramChecker, outcome: Outcome, self_test: Outcome | None = None
) -> tuple[TestStatus, str, float]:
    """(status, reason, score from 0 to 1) of a checker's end. Where its convention knows no such end, the answer is
    wrong if the checker works without the answer (`self_test`), else the status is CHECKER_FAILED. Raises Starved for a
    checker that did not get the CPU time it needed."""
    if outcome.status is Status.START_ERROR:
        raise missing(checker.language)
    found = _judge_kattis(checker, outcome) if checker.style == "kattis" else _judge_testlib(checker, outcome)
    if found is not None:
        return found
    last = outcome.stderr[-_TAIL:].partition(_mark(checker).encode())[0].decode("utf-8", "replace").strip()
    how = _unended(checker, outcome)
    why = f"the {_called(checker)} ended with {how}: {plain(last[-200:], 200)}".rstrip(": ")
    if checker.judging_errors:
        return TestStatus.CHECKER_FAILED, why, 0.0
    if _starved(outcome):
        raise Starved(f"the row's {_called(checker)} got too little CPU: {outcome.cpu_time_s:.1f} s")
    if does_well(checker, self_test):
        return TestStatus.WRONG_ANSWER, f"{why} (on what the answer wrote)", 0.0
    return TestStatus.CHECKER_FAILED, why, 0.0


def _called(checker: ProgramChecker) -> str:
    return "interactor" if checker.interactive else "checker"


def _unended(checker: ProgramChecker, outcome: Outcome) -> str:
    """How a checker ended that did not end as its style has it; an interactor may run on after the answer has ended."""
    if outcome.exit_code == _CPU_TIME_OVER:
        return Status.CPU_TIME_LIMIT.value
    if (checker.style, outcome.exit_code) == ("kattis", _NO_SCORE) and (score := _kattis_words(checker, outcome)[0]):
        return f"a score that is no number ({plain(score, 64)})"
    if outcome.exit_code is not None:
        return f"exit code {outcome.exit_code}"
    return "no verdict after the answer's end" if outcome.status is Status.OK else outcome.status.value


def does_well(checker: ProgramChecker, self_test: Outcome | None) -> bool:
    """Whether the row's program works without the answer: a checker judges the row's own output, with any result; an
    interactor judges its silent partner, or waits for it."""
    if self_test is None or self_test.status is Status.START_ERROR:
        return False
    if self_test.exit_code in _EXIT_CODES[checker.style]:
        return True
    idle = self_test.cpu_time_s <= _WAITING_S + checker.language.start_s
    waited = self_test.wall_time_s >= 0.95 * SILENT_S and idle
    return checker.interactive and waited


def is_broken(checker: ProgramChecker, outcome: Outcome, self_test: Outcome | None) -> bool:
    """Whether a checker ended outside its convention, and does so without the answer too."""
    ended_well = outcome.exit_code in _EXIT_CODES[checker.style]
    return not ended_well and self_test is not None and not does_well(checker, self_test)


def _starved(outcome: Outcome) -> bool:
    """Whether the time ran out while it used nearly no CPU, in a box that can't tell a hang from starvation. Where the
    box can, the engine ran starved runs again."""
    if outcome.starved_s is not None:
        return False
    if outcome.status is Status.WALL_TIME_LIMIT:
        return outcome.cpu_time_s < _STARVED_SHARE * outcome.wall_time_s
    return outcome.status is Status.OK and outcome.exit_code is None and outcome.cpu_time_s < _STARVED_S


def _judge_kattis(checker: ProgramChecker, outcome: Outcome) -> tuple[TestStatus, str, float] | None:
    if outcome.exit_code not in _EXIT_CODES["kattis"]:
        return None
    score_text, message = _kattis_words(checker, outcome)
    if outcome.exit_code == 43:
        return TestStatus.WRONG_ANSWER, message.strip()[:300] or "the checker denies it", 0.0
    if checker.passes > 1 and outcome.channel:
        return TestStatus.WRONG_ANSWER, f"the checker wants a pass after the last of {checker.passes}", 0.0
    score = _score(score_text, checker.full_score)
    if score is None:
        return TestStatus.PASSED, "", 1.0
    return _scored(score, message.strip()[:300])


def _kattis_words(checker: ProgramChecker, outcome: Outcome) -> tuple[str, str]:
    """(the first line of its score, its message)."""
    said = outcome.stderr[-_TAIL:].rpartition(_mark(checker).encode())[2].decode("utf-8", "replace").removeprefix("\n")
    score, _, message = said.partition("\n")
    return score, message


def _judge_testlib(checker: ProgramChecker, outcome: Outcome) -> tuple[TestStatus, str, float] | None:
    if outcome.exit_code is None:
        return None
    code, said = outcome.exit_code, outcome.stderr[-_TAIL:].decode("utf-8", "replace").strip()[:300]
    partly = _PARTLY.search(outcome.stderr.lstrip())
    if partly and int(partly[1]) == code <= _PARTS:
        other = (code - 16) / 100 if 16 <= code <= 116 else 0.0 if code in _WRONG else 1.0
        return _scored(min(code / _PARTS, other if partly.start() else 1.0), said)  # behind others it may be repeated
    if code == 0:
        return TestStatus.PASSED, "", 1.0
    if code in (1, 8):
        return TestStatus.WRONG_ANSWER, said or "the checker denies it", 0.0
    if code in (2, 4):
        return TestStatus.PRESENTATION_ERROR, said or "the checker can't read the output", 0.0
    points = _POINTS.findall(outcome.stderr)
    if code in (5, 7) and points:  # the fewest: the other lines may repeat what the checker judges
        values = [float(each) for each in points]
        fewest = min(values) if all(map(math.isfinite, values)) else 0.0
        return _scored(max(0.0, min(1.0, fewest / checker.full_score)), said)
    if 16 <= code <= 116:
        return _scored((code - 16) / 100, said)
    return None


def _score(text: str, full: float) -> float | None:
    """A score as a share of the full score; None where there is none. What is no number does not come here."""
    return max(0.0, min(1.0, float(text.strip()) / full)) if text.strip() else None


def _scored(score: float, message: str) -> tuple[TestStatus, str, float]:
    if score == 1.0:
        return TestStatus.PASSED, "", 1.0
    return TestStatus.WRONG_ANSWER, f"scored {score:g}{': ' if message else ''}{message}", score


def missing(language: Language) -> ToolchainMissing:
    """No verdict: the box lacks what the language needs."""
    return ToolchainMissing(
        f"the sandboxes have no {language.toolchain} for {language.name}; run `{language.installation}`"
        " on this machine, or use the docker provider with the polyglot image"
    )
