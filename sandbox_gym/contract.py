"""The nouns: what a verifier plans, what a sandbox did, what it was worth. Frozen values.

Owns the vocabulary shared by engine, providers and verifiers; must not know any of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Literal, Protocol, TypeVar

from sandbox_gym.limits import MIB, Limits

Isolation = Literal["namespace", "container", "gvisor", "vm", "none"]
Integrity = Literal["isolated", "in_process"]

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said: the response's output text, whole."""

    text: str


@dataclass(frozen=True, slots=True)
class Program:
    """What to start in a box.

    `mode` "fork" runs `files[main]` as `__main__` in a fork of a clean interpreter; "exec" runs `argv`.
    "call" loads `files[main]` as a module and serves calls of `entry_point` on fd 3 (see guest/python/calls.py); "ask"
    runs `files[main]` (a test that defines `check`) against a proxy that makes those calls. "check" runs `files[main]`
    and then `files["test.py"]` in its namespace, and says on fd 3 how `check` ended, behind the key that is its input
    (see guest/python/together.py). "session" serves a session's tool calls on fd 3 (see guest/session/driver.py).
    """

    mode: Literal["fork", "exec", "call", "ask", "check", "session"]
    files: Mapping[str, bytes]
    main: str = "main.py"
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    entry_point: str = ""
    recursion_limit: int = 0
    """Python modes: sys.setrecursionlimit before the program starts; 0 leaves the interpreter's own."""
    implicit_imports: bool = False
    """Python modes: names of LiveCodeBench's import prelude resolve without an import."""
    workdir: str = ""
    """A folder of the box to work in, which outlives the run; empty for a scratch folder of the run's own."""
    captures: bool = False
    """"exec" mode: what is written on fd 3 is kept as the outcome's `channel`."""
    requires: tuple[str, ...] = ()
    """Executables, as absolute paths, and Python modules without which the program is not started:
    `Status.START_ERROR`. The guest looks before the program begins, so that no program can say that one is missing."""
    needs: tuple[str, ...] = ()
    """Names of the plan's builds whose artifacts join `files`."""


@dataclass(frozen=True, slots=True)
class Run:
    """One program, one input, one set of caps."""

    name: str
    program: Program
    stdin: bytes = b""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Passes:
    """A step whose checker may ask for another pass of the answer's program, at most `most` passes in all.

    It asks by exiting with `exit_code` and writing on fd 3 the next input's length as a decimal line, that input, and
    what it wants to keep. The next pass's checker has the input as `input_file` and what was kept as `kept_file`; the
    answer's program is given the input alone. Each pass has the step's limits.
    """

    most: int
    exit_code: int = 42
    input_file: str = "input"
    kept_file: str = "kept"


@dataclass(frozen=True, slots=True)
class SelfTest:
    """How the row's own program, a checker or an interactor, does without the answer: whether its failure on what an
    answer wrote is its own. Run once by content, and only where it ended with none of `exit_codes`."""

    run: Run
    exit_codes: tuple[int, ...]
    """Those by which it says what it has found."""


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Two programs in two boxes, joined: `asker` holds the hidden test, `candidate` the answer.

    `channel` "calls" joins their fd 3; "stdio" joins each one's standard output to the other's standard input.
    """

    name: str
    asker: Run
    candidate: Run
    channel: Literal["calls", "stdio"] = "calls"
    passes: Passes | None = None
    """The asker may ask for another dialogue of the two; the candidate is given no input of its own."""
    self_test: SelfTest | None = None
    """Of the asker."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A run whose output another program judges, in another box, when the run ended well."""

    name: str
    answer: Run
    checker: Run
    output_file: str = ""
    """The checker's file that holds the answer's output; empty: its standard input."""
    passes: Passes | None = None
    self_test: SelfTest | None = None
    """Of the checker."""


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """A snapshot of a session, as what a sandbox begins from."""

    snapshot_id: str

    def __str__(self) -> str:
        return f"snapshot:{self.snapshot_id}"


Source = str | SnapshotRef
"""What a sandbox begins from: an image by its name, or a snapshot."""


@dataclass(frozen=True, slots=True)
class Service:
    """A program that stays: started once in a box of `image`, it answers requests in forked workers.

    `files["main.py"]` ends in `service_worker.serve(handle, ...)`; see guest/services/service_worker.py.
    """

    name: str
    files: Mapping[str, bytes]
    image: str = "python"
    worker_memory_bytes: int = 1024 * MIB
    """Address space that a worker may take beyond what it was forked with."""
    remedy: str = ""
    """What to do where its imports are missing."""


@dataclass(frozen=True, slots=True)
class Query:
    """A request to a service. `limits`: CPU and wall time of this one request; its answer is the outcome's stdout."""

    name: str
    service: Service
    request: bytes
    limits: Limits = field(default_factory=Limits)


Step = Run | Dialogue | Checked | Query


@dataclass(frozen=True, slots=True)
class Build:
    """A run before the steps whose result is kept by content, so that the same build is made once.

    What it prints becomes the file `artifact` of each program that needs it; without one, its outcome is what was
    wanted. `place`: the box of the answer, or the box that no answer's program ever runs in.
    """

    name: str
    run: Run
    artifact: str = ""
    place: Literal["answer", "judge"] = "answer"
    advisory: bool = False
    """Its outcome is looked at, but its failure ends nothing."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run for one answer; either all steps are queries or none is. `early_stop`: nothing after the first step
    that `Verifier.passed` denies is run, in its group where there are groups."""

    steps: tuple[Step, ...]
    image: Source = "python"
    integrity: Integrity = "isolated"
    early_stop: bool = False
    builds: tuple[Build, ...] = ()
    """Made in this order before the steps; no step is run when one fails."""
    groups: tuple[int, ...] = ()
    """How many steps each group has, in order; empty: all are one group."""


class Status(StrEnum):
    """How a run ended. Everything here is the program's doing; what is ours is raised."""

    OK = "ok"
    """Exited with 0."""
    RUNTIME_ERROR = "runtime_error"
    """Exited with another code, or by a signal of its own."""
    CPU_TIME_LIMIT = "cpu_time_limit"
    WALL_TIME_LIMIT = "wall_time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    START_ERROR = "start_error"
    """The program could not be started: no such command, a file that can't be written. The guest's own word, which no
    exit code and nothing that a program prints can stand for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did, as the supervisor saw it. Byte strings are at most as long as their limits."""

    status: Status
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    channel: bytes = b""
    """What the program wrote on fd 3, in `call` mode: a bounded, untrusted wire value."""
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    starved_s: float | None = None
    """Of `wall_time_s`: for so long at least it wanted CPU that others had. None where the box can't tell."""
    peak_memory_bytes: int = 0
    detail: str = ""
    tamper: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PassOutcome:
    """A pass after which another one followed. Outputs are kept up to a bound."""

    answer: Outcome
    checker: Outcome


@dataclass(frozen=True, slots=True)
class DialogueOutcome:
    """Both ends of a dialogue, and how many bytes crossed each way. With several passes: of the last one."""

    asker: Outcome
    candidate: Outcome
    first: Literal["", "asker", "candidate"] = ""
    """Which of the two left first: its output ended, or it did."""
    earlier: tuple[PassOutcome, ...] = ()
    self_test: Outcome | None = None
    """The asker's, where it was run."""


@dataclass(frozen=True, slots=True)
class CheckedOutcome:
    """The answer's run and the checker's; none where the answer's did not end well. With several passes: of the last
    one."""

    answer: Outcome
    checker: Outcome | None
    earlier: tuple[PassOutcome, ...] = ()
    self_test: Outcome | None = None
    """The checker's, where it was run."""


StepOutcome = Outcome | DialogueOutcome | CheckedOutcome


@dataclass(frozen=True, slots=True)
class State:
    """What a plan did: `outcomes[i]` belongs to `plan.steps[i]`, None where early stop left it out; the tail is cut.

    `builds[i]` belongs to `plan.builds[i]`, up to the first that failed; an artifact is not kept here.
    """

    outcomes: tuple[StepOutcome | None, ...]
    isolation: Isolation
    provider: str
    builds: tuple[Outcome, ...] = ()


def ends_plan(build: Build, outcome: Outcome) -> bool:
    """Whether a build's failure leaves nothing to run."""
    return outcome.status is not Status.OK and not build.advisory


def answers_run(step: Step) -> Run | None:
    """The run of a step that holds the answer's program; none where a service is asked."""
    if isinstance(step, Dialogue):
        return step.candidate
    if isinstance(step, Checked):
        return step.answer
    return step if isinstance(step, Run) else None


def answers_outcome(outcome: StepOutcome) -> Outcome:
    """What the answer's own program did in a step."""
    if isinstance(outcome, DialogueOutcome):
        return outcome.candidate
    return outcome.answer if isinstance(outcome, CheckedOutcome) else outcome


def earlier_passes(outcome: StepOutcome) -> tuple[PassOutcome, ...]:
    """The passes before a step's last one."""
    return () if isinstance(outcome, Outcome) else outcome.earlier


class TestStatus(StrEnum):
    """The verdict on one test."""

    __test__ = False  # not a test class, whatever pytest makes of its name

    PASSED = "passed"
    WRONG_ANSWER = "wrong_answer"
    PRESENTATION_ERROR = "presentation_error"
    """Right but for white space, where the row asks for the difference."""
    COMPILE_ERROR = "compile_error"
    RUNTIME_ERROR = "runtime_error"
    TIME_LIMIT = "time_limit"
    MEMORY_LIMIT = "memory_limit"
    OUTPUT_LIMIT = "output_limit"
    BAD_VALUE = "bad_value"
    """The function gave something that is no exact builtin value."""
    SKIPPED = "skipped"
    """Not run: early stop after an earlier failure."""
    CHECKER_FAILED = "checker_failed"
    """The row's own checker or interactor gave no verdict: nobody knows what the answer is worth."""


CONTEST_CODES: Mapping[TestStatus, str] = {
    TestStatus.PASSED: "AC",
    TestStatus.WRONG_ANSWER: "WA",
    TestStatus.PRESENTATION_ERROR: "PE",
    TestStatus.COMPILE_ERROR: "CE",
    TestStatus.RUNTIME_ERROR: "RTE",
    TestStatus.TIME_LIMIT: "TLE",
    TestStatus.MEMORY_LIMIT: "MLE",
    TestStatus.OUTPUT_LIMIT: "OLE",
    TestStatus.BAD_VALUE: "WA",
    TestStatus.SKIPPED: "SK",
    TestStatus.CHECKER_FAILED: "JE",
}
"""What programming contests call each status; SK for a test that was not run, JE for a judging error."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test: which, how it ended, why, and what it cost."""

    __test__ = False

    index: int
    status: TestStatus
    reason: str = ""
    score: float = 0.0
    """What the test gives, from 0 to 1."""
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    peak_memory_bytes: int = 0
    got: str = ""
    """The value that a function gave where another was expected, shortened."""


@dataclass(frozen=True, slots=True)
class GroupResult:
    """One group of tests: what it gave of what it could give."""

    name: str
    points: float
    of: float


@dataclass(frozen=True, slots=True)
class InvertedTests:
    """Tests that shared the answer's process, run once more over the same answer, some of them changed so that they
    must fail: whether a pass could fail at all."""

    variants: int = 0
    """How many changed tests were run."""
    failed: int = 0
    """How many of them failed, as they must."""
    unchanged: int = 0
    """How many tests were run unchanged among them."""
    why_none: str = ""
    """Why no variant of a deciding test was run, where none was."""
    seed: str = ""
    """What the choice and the order of a coding row's runs came from, so that a record can be judged again."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is worth, and how we know."""

    reward: float
    tests: tuple[TestResult, ...] = ()
    failure_reason: str = ""
    """Empty when the reward is full; else the first failing test's status, or why nothing could be run."""
    integrity: Integrity = "isolated"
    integrity_reason: str = ""
    """Why tests shared the answer's process: "row: ..." where the row asks for it, "answer: ..." where only what this
    answer gave does; empty where they were apart."""
    isolation: Isolation = "none"
    provider: str = ""
    tamper: tuple[str, ...] = ()
    """Signs that the answer tried to reach beyond its task, by name."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    """What was seen, by the name of the sign."""
    inverted: InvertedTests | None = None
    """None where tests ran apart from the answer, or where the reward was 0 without it."""
    groups: tuple[GroupResult, ...] = ()
    decided_by: str = ""
    """Which rung of a ladder of judges said so, where there is a ladder."""
    attempts: int = 1
    timings_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase: queue (for a turn), acquire (a box), run (files, programs and outputs, in one pass), judge;
    inverted: the runs of a patch's inverted tests, added up, though some go at the same time."""

    @property
    def contest(self) -> str:
        """The verdict as a contest has it: the first test's that did not pass."""
        bad = (test for test in self.tests if test.status not in (TestStatus.PASSED, TestStatus.SKIPPED))
        first = next(bad, None)
        return CONTEST_CODES[first.status] if first is not None else "AC" if self.tests else "CE"


T = TypeVar("T", contravariant=True)


class Verifier(Protocol, Generic[T]):
    """Two pure functions, and the pure question early stop asks.

    `plan` raises RequestError. `judge` raises Unavailable for a state that allows no verdict, as where a compiler is
    not installed.
    """

    def plan(self, task: T, answer: Answer) -> Plan: ...

    def passed(self, task: T, index: int, outcome: StepOutcome) -> bool: ...

    def judge(self, task: T, answer: Answer, plan: Plan, state: State) -> Verdict: ...
