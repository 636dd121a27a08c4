"""Files travel once, and what many runs' files add up to is bounded: a box keeps what was used last."""

from __future__ import annotations

import pytest

from sandbox_gym.contract import Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.anyio

LIMITS = Limits(cpu_time_s=5, wall_time_s=20, memory_bytes=128 * MIB)
SOURCE = b"import os; print(os.path.getsize('given'), open('given').read(3), open('kept').read())"


def run_of(number: int, size: int) -> Run:
    given = (b"%03d" % number).ljust(size, b".")
    return Run("one", Program("fork", {"main.py": SOURCE, "kept": b"kept", "given": given}), limits=LIMITS)


async def outcomes_of(box: Sandbox, *runs: Run) -> list[str]:
    found = []
    async with box.run_all(runs) as outcomes:
        async for outcome in outcomes:
            assert outcome.status is Status.OK, outcome
            found.append(outcome.stdout.decode())
    return found


async def test_a_file_of_each_run_as_large_as_an_output_may_be(box: Sandbox) -> None:
    """As a checker has it, whose file is what the answer printed: what a hostile answer prints is no reason to end."""
    size = Limits().stdout_bytes
    for number in range(20):
        assert await outcomes_of(box, run_of(number, size)) == [f"{size} {number:03d} kept\n"]
    assert await box.reset()


async def test_runs_that_wait_keep_their_files(box: Sandbox) -> None:
    """Each of those under way has files that the next one's would push out, and the first ones come again."""
    size = 5 * MIB
    numbers = [*range(12), *range(12)]
    found = await outcomes_of(box, *[run_of(number, size) for number in numbers])
    assert found == [f"{size} {number:03d} kept\n" for number in numbers]
    assert await box.reset()


async def test_a_program_of_many_files(box: Sandbox) -> None:
    """More than one message to an init can carry, and others after them."""
    source = b"import os; print(sum(int(open(name).read()) for name in os.listdir('.') if name.startswith('f')))"
    for first in (0, 900, 0):
        numbers = range(first, first + 900)
        files = {"main.py": source, **{f"f{number}": b"%d" % number for number in numbers}}
        run = Run("one", Program("fork", files), limits=LIMITS)
        assert await outcomes_of(box, run, run) == [f"{sum(numbers)}\n"] * 2
    assert await box.reset()


async def test_a_program_writes_in_every_folder_of_its_files(box: Sandbox) -> None:
    source = b"for name in ('a/o', 'a/b/o', 'a/b/c/o', 'a/x/o'): open(name, 'w').write('1')\nprint(2)"
    files = {"main.py": source, "a/b/c/given": b"1", "a/x/given": b"2"}
    for mode in ("fork", "exec"):
        program = (
            Program("fork", files) if mode == "fork" else Program("exec", files, argv=("/usr/bin/python3", "main.py"))
        )
        async with box.run_all([Run("one", program, limits=LIMITS)]) as outcomes:
            found = [(outcome.stdout, outcome.stderr) async for outcome in outcomes]
        assert found == [(b"2\n", b"")]
