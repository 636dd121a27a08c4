"""Who is to blame for how a run ended: the program only where a counter that it can't move says so."""

from __future__ import annotations

import itertools
import signal
from dataclasses import replace

import pytest

from sandbox_gym.contract import Status
from sandbox_gym.errors import LossEvidence
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.blame import OWN_SIGNALS, Ending, NotTheProgram, of_run, of_worker, unexplained

LIMITS = Limits(memory_bytes=64 * MIB, cpu_time_s=2)
ENDS = (
    Ending(exit_code=0),
    Ending(exit_code=1),
    Ending(exit_code=1, peak_bytes=63 * MIB),
    Ending(exit_code=127, unstarted="no such program"),
    Ending(exit_code=1, cpu_s=2.5),
    Ending(signal=signal.SIGKILL),
    Ending(signal=signal.SIGSEGV),
    Ending(stopped="wall_time_limit", signal=signal.SIGKILL),
    Ending(stopped="output_limit", signal=signal.SIGKILL),
    Ending(exit_code=0, data_over=True),
    Ending(reported=False),
    Ending(exit_code=127, unprepared="OSError: [Errno 24] No file descriptors available"),
)
OWN = {
    0: Status.OK, 1: Status.RUNTIME_ERROR, 2: Status.MEMORY_LIMIT, 3: Status.START_ERROR, 4: Status.CPU_TIME_LIMIT,
    5: Status.RUNTIME_ERROR, 6: Status.RUNTIME_ERROR, 7: Status.WALL_TIME_LIMIT, 8: Status.OUTPUT_LIMIT,
    9: Status.MEMORY_LIMIT,
}  # fmt: skip


@pytest.mark.parametrize("number", OWN)
def test_what_programs_do_by_themselves(number: int) -> None:
    assert of_run(ENDS[number], LIMITS)[0] is OWN[number]


@pytest.mark.parametrize("end", [Ending(exit_code=127, unprepared=why) for why in ("", "OSError: [Errno 24]")])
def test_what_fails_before_there_is_a_program_is_ours(end: Ending) -> None:
    with pytest.raises(NotTheProgram, match="could not start the program"):
        of_run(end, LIMITS)


def test_what_fails_near_the_memory_cap_is_the_programs() -> None:
    end = Ending(exit_code=127, unprepared="OSError: [Errno 12]", peak_bytes=LIMITS.memory_bytes)
    assert of_run(end, LIMITS)[0] is Status.MEMORY_LIMIT


@pytest.mark.parametrize("end", ENDS)
def test_memory_that_was_short_above_the_sandbox_is_ours_however_the_run_ended(end: Ending) -> None:
    with pytest.raises(NotTheProgram, match="short of memory") as raised:
        of_run(replace(end, oom_kills=1), LIMITS)
    assert not raised.value.evidence.points_at_program
    assert of_run(replace(end, oom_kills=3, memory_full=True), LIMITS)[0] is Status.MEMORY_LIMIT


@pytest.mark.parametrize("end", [end for end in ENDS if not end.data_over])
def test_processes_that_were_short_above_the_sandbox_are_ours(end: Ending) -> None:
    with pytest.raises(NotTheProgram, match="process cap above"):
        of_run(replace(end, forks_denied=2, processes_full=False), LIMITS)


@pytest.mark.parametrize("number", OWN)
def test_a_program_at_its_own_caps_is_blamed_for_what_it_did(number: int) -> None:
    full = replace(ENDS[number], memory_full=True, forks_denied=5, processes_full=True)
    assert of_run(full, LIMITS)[0] is OWN[number]


def test_an_init_that_is_gone_is_ours_unless_its_sandbox_was_full() -> None:
    for full, denied in itertools.product((False, True), (0, 1)):
        with pytest.raises(NotTheProgram, match="init"):
            of_run(Ending(reported=False, memory_full=full, forks_denied=denied), LIMITS)
    assert of_run(Ending(reported=False, oom_kills=1, memory_full=True), LIMITS)[0] is Status.MEMORY_LIMIT


def test_signals_of_a_services_workers() -> None:
    for number in sorted(signal.valid_signals()):
        if number in OWN_SIGNALS:
            assert of_worker(number, LossEvidence())[0] is Status.RUNTIME_ERROR
            assert not unexplained(Status.RUNTIME_ERROR, number)
            continue
        with pytest.raises(NotTheProgram):
            of_worker(number, LossEvidence(detail="processes"))
        assert of_worker(number, LossEvidence(oom_kills=1))[0] is Status.MEMORY_LIMIT
        assert unexplained(Status.RUNTIME_ERROR, number)
    assert not unexplained(Status.MEMORY_LIMIT, signal.SIGKILL)
    assert not unexplained(Status.RUNTIME_ERROR, None)
