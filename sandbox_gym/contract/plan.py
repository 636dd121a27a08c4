"""What a verifier plans: programs, runs and the steps that they make. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox_gym.limits import MIB, Limits

Integrity = Literal["isolated", "in_process"]


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
    shared: bool = False
    """Python modes "fork" and "call": may be run in a process that ran the same program before, on an earlier input."""
    alone: bool = False
    """A run that may be `shared` is not, in a process that looks to its program as one that is."""


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
    anew: bool = False
    """Made for this plan and not kept: what it makes is as old as that of other programs beside it."""


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


def answers_run(step: Step) -> Run | None:
    """The run of a step that holds the answer's program; none where a service is asked."""
    if isinstance(step, Dialogue):
        return step.candidate
    if isinstance(step, Checked):
        return step.answer
    return step if isinstance(step, Run) else None
