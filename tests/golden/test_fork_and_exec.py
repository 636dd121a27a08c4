"""Fork mode is exec mode, faster: the same programs end the same way in a fork of the guest's interpreter and in one of
their own. Over 600 programs: the corpus's Python, HumanEval's solutions and their mutants with their tests; a third of
them in the daily run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.sandbox import Sandbox
from tests import humaneval
from tests.conftest import make_real
from tests.daily import part

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]
CORPUS = Path(__file__).parent / "corpus"
LIMITS = Limits(cpu_time_s=1.5, wall_time_s=8, memory_bytes=256 * MIB)
ODDITIES = (
    "import sys\nprint(sys.argv, __name__, sys.flags.isolated)",
    "print(__builtins__.__name__, sorted(k for k in globals() if not k.startswith('__')))",
    "import atexit\natexit.register(print, 'bye')\nprint('hi')",
    "import sys\nsys.exit('a message')",
    "import sys\nsys.exit(300)",
    "raise KeyboardInterrupt",
    "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
    "import os\nprint(os.getcwd() == os.environ['HOME'], sorted(os.listdir('.')))",
    "import sys\nsys.stdout.write('no newline')",
    "import sys\nsys.stdout.close()",
    "class A:\n    def __del__(self):\n        print('gone')\na = A()",
    "import signal, os\nos.kill(os.getpid(), signal.SIGTERM)",
    "def f():\n    f()\nf()",
    "import multiprocessing as m\nprint(m.get_start_method(), m.current_process().name)",
    "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__module__)",
    "import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    print('done')\nasyncio.run(main())",
    "import random, uuid\nprint(len({random.random() for _ in range(9)}), uuid.uuid4().version)",
    "import sys\nprint(input(), sys.stdin.read(), sep='|')",
    "import sys\nprint(sys.stdin.buffer.readline(), sys.stdin.encoding, sys.stdout.encoding)",
    "print('\\ud800')",
    "x: int = 'a'\nprint(__annotations__)",
    "from __future__ import annotations\nprint(1)",
    "import __main__\nprint(hasattr(__main__, '__file__'))",
    "print(open(0).read())",
    "assert False, 'asserts are on'",
    "import warnings\nwarnings.warn('careful')",
)


def sources(data_folder: Path) -> Iterator[tuple[str, str]]:
    """(name, source) of every program."""
    for path in sorted(CORPUS.glob("*/*.py")):
        yield f"{path.parent.name}/{path.name}", path.read_text()
    for number, source in enumerate(ODDITIES):
        yield f"oddity {number}", source
    for row in humaneval.load(data_folder):
        solution = row["prompt"] + row["canonical_solution"]
        check = f"\n{row['test']}\ncheck({row['entry_point']})\nprint('done')\n"
        yield row["task_id"], solution + check
        for name, mutant in mutants(solution):
            yield f"{row['task_id']} {name}", mutant + check


def mutants(solution: str) -> Iterator[tuple[str, str]]:
    """The solution with one thing changed; most fail their test, and must do so in the same way."""
    swaps = (
        ("plus", r" \+ ", " - "),
        ("less", r" < ", " >= "),
        ("number", r"\b1\b", "2"),
        ("return", r"return ", "return not "),
    )
    for name, pattern, other in swaps:
        changed, count = re.subn(pattern, other, solution, count=1)
        if count:
            yield name, changed
    yield "raises", solution.replace("    return", "    raise LookupError('mutant')\n    return", 1)


def as_exec(source: str) -> Program:
    return Program("exec", {"main.py": source.encode()}, argv=("/usr/bin/python3", "-I", "main.py"))


def as_fork(source: str) -> Program:
    return Program("fork", {"main.py": source.encode()})


def likeness(outcome: Outcome) -> tuple[object, ...]:
    """What must be the same: how it ended, what it printed, and the last line of its complaint."""
    last = outcome.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if outcome.status in (Status.CPU_TIME_LIMIT, Status.WALL_TIME_LIMIT, Status.MEMORY_LIMIT, Status.OUTPUT_LIMIT):
        return (outcome.status,)
    return outcome.status, outcome.exit_code, outcome.signal, outcome.stdout, last


async def outcomes(box: Sandbox, programs: list[Program]) -> list[Outcome]:
    runs = [Run(str(number), program, b"3\n1 2 3\n", LIMITS) for number, program in enumerate(programs)]
    async with box.run_all(runs) as results:
        return [outcome async for outcome in results]


async def test_fork_and_exec_agree(data_folder: Path, whole: bool) -> None:
    everything = list(sources(data_folder))
    assert len(everything) >= 600
    named = part(everything, 3, whole=whole)
    provider = make_real("local")
    found: dict[str, list[Outcome]] = {}

    async def run(kind: str, programs: list[Program]) -> None:
        box = await provider.create(SandboxSpec())
        try:
            found[kind] = await outcomes(box, programs)
        finally:
            await box.aclose()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, "fork", [as_fork(source) for _, source in named])
        tasks.start_soon(run, "exec", [as_exec(source) for _, source in named])
    await provider.aclose()
    disagree = {
        name: json.dumps([repr(likeness(forked)), repr(likeness(executed))])
        for (name, _), forked, executed in zip(named, found["fork"], found["exec"], strict=True)
        if likeness(forked) != likeness(executed)
    }
    assert disagree == {}, "\n".join(f"{name}: {what}" for name, what in disagree.items())
