"""HumanEval's way to grade: answer and assertions are one text for `exec` in a forked child; no exception is a pass.

Our own small version of its documented working: the child disarms its interpreter, swallows input and output, limits
itself with an interval timer, and appends its verdict to a list in a `multiprocessing` manager that the parent reads.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, MutableSequence
from types import FrameType

from benchmarks.graders.corpus import Job
from benchmarks.graders.guard import guard
from benchmarks.graders.verdict import answer


class TooLong(Exception):
    """The timer rang."""


class NoInput(io.StringIO):
    """Takes output; reading it is an error."""

    def read(self, size: int | None = -1, /) -> str:
        raise OSError("no input")

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override] # the stub lets size be None in some versions
        raise OSError("no input")


def grade(job: Job) -> bool:
    verdicts = multiprocessing.Manager().list()
    child = multiprocessing.Process(target=execute, args=(job, verdicts))
    child.start()
    child.join(timeout=job.time_limit_s + 1)
    if child.is_alive():
        child.kill()
    if not verdicts:
        verdicts.append("timed out")
    return bool(verdicts[0] == "passed")


def execute(job: Job, verdicts: MutableSequence[str]) -> None:
    """In the child: the candidate, its tests and the list that says who passed share everything."""
    remove, leave = shutil.rmtree, os.chdir
    folder, home = tempfile.mkdtemp(), os.getcwd()
    os.chdir(folder)
    guard()
    program = f"{job.source}\n{job.test}\ncheck({job.function})"
    try:
        with silence(), limit(job.time_limit_s):
            exec(program, {})
        verdicts.append("passed")
    except TooLong:
        verdicts.append("timed out")
    except BaseException as error:  # also SystemExit, which a program may raise
        verdicts.append(f"failed: {error}")
    leave(home)
    remove(folder, ignore_errors=True)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    stream, kept = NoInput(), sys.stdin
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        sys.stdin = stream
        try:
            yield
        finally:
            sys.stdin = kept


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    answer(grade)
