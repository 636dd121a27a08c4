"""A check of plain assertions ends alike whether its calls' values settle it or its test is run in a box of its own."""

from __future__ import annotations

from dataclasses import replace

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]

TEST = """
METADATA = {"author": "x"}

def check(candidate):
    assert candidate([3, 1, 2]) == [1, 2, 3], "sorts"
    assert candidate([]) == []
    assert candidate([2.5, -1]) == [-1, 2.5]
    assert not candidate([])
"""
FORGED = """
import json, os
def f(xs):
    {before}
    return sorted(xs)
"""
ANSWERS = {
    "right": ("def f(xs):\n    print('x' * 100)\n    return sorted(xs)", "passed"),
    "in_a_solution": ("class Solution:\n    def f(self, xs):\n        return sorted(xs)", "passed"),
    "keeps_state": ("made = []\ndef f(xs):\n    made.append(xs)\n    return sorted(xs)", "passed"),
    "wrong_later": ("def f(xs):\n    return sorted(xs) if len(xs) != 2 else xs", "wrong_answer"),
    "wrong_then_hangs": ("def f(xs):\n    while not xs: pass\n    return xs", "wrong_answer"),
    "another_kind": ("def f(xs):\n    return tuple(sorted(xs))", "wrong_answer"),
    "nothing": ("def f(xs):\n    xs.sort()", "wrong_answer"),
    "a_subclass": ("class L(list): pass\ndef f(xs):\n    return L(sorted(xs))", "passed"),
    "equal_to_all": (
        "class L(list):\n    def __eq__(self, other): return True\n    def __bool__(self): return False\n"
        "def f(xs):\n    return L()",
        "wrong_answer",
    ),
    "a_generator": ("def f(xs):\n    yield from sorted(xs)", "wrong_answer"),
    "a_deque": ("import collections\ndef f(xs):\n    return collections.deque(sorted(xs))", "wrong_answer"),
    "raises": ("def f(xs):\n    return sorted(xs) if xs else 1 / 0", "runtime_error"),
    "raises_an_assertion": ("def f(xs):\n    assert xs\n    return sorted(xs)", "wrong_answer"),
    "leaves": ("import sys\ndef f(xs):\n    sys.exit(0)", "runtime_error"),
    "leaves_hard": ("import os\ndef f(xs):\n    os._exit(0)", "runtime_error"),
    "dies": ("import os, signal\ndef f(xs):\n    os.kill(os.getpid(), signal.SIGSEGV)", "runtime_error"),
    "does_not_parse": ("def f(xs:\n    return", "runtime_error"),
    "defines_nothing": ("g = sorted", "runtime_error"),
    "hangs": ("def f(xs):\n    while True: pass", "time_limit"),
    "hoards": ("def f(xs):\n    return [bytearray(1 << 28) for _ in range(64)]", "memory_limit"),
    "floods": ("def f(xs):\n    while True: print('x' * 10000)", "output_limit"),
    "forks": ("import os\ndef f(xs):\n    os.fork()\n    return sorted(xs)", "passed"),
    "replaces_builtins": ("import builtins\nbuiltins.isinstance = lambda *a: True\ndef f(xs):\n    return 1", None),
    "talks_itself": (FORGED.format(before="os.write(3, b'\\0\\0\\0\\x0e' + b'{\"value\":true}')"), None),
    "reads_ahead": (FORGED.format(before="os.read(3, 1 << 20)"), None),
    "shuts_the_channel": (FORGED.format(before="os.close(3)"), None),
    "answers_all_at_once": (
        FORGED.format(
            before="body = json.dumps({'value': ['l', []]}).encode()\n"
            "    os.write(3, (len(body).to_bytes(4, 'big') + body) * 9); os._exit(0)"
        ),
        None,
    ),
}
"""Sources, and the status that both ways give; None where both say no more than that nothing is earned."""


async def ended(engine: Engine, source: str, *, dialogue: bool) -> Verdict:
    seconds = 20 if "bytearray" in source else 1  # so that memory runs out before time does
    row = {"test": TEST, "entry_point": "f", "prompt": "", "time_limit_s": seconds}
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    answer = Answer(f"```python\n{source}\n```")
    return (await engine.verify(CodingVerifier(), replace(task, dialogue=dialogue), answer)).verdict


@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_both_ways_end_alike(provider: str) -> None:
    found: dict[str, list[Verdict]] = {}
    async with open_engine(Settings(provider=provider, boxes=4)) as engine:
        slots = anyio.Semaphore(4)

        async def one(name: str, source: str) -> None:
            async with slots:
                found[name] = [await ended(engine, source, dialogue=dialogue) for dialogue in (False, True)]

        async with anyio.create_task_group() as tasks:
            for name, (source, _status) in ANSWERS.items():
                tasks.start_soon(one, name, source)
    for name, (_source, status) in ANSWERS.items():
        by_values, by_dialogue = found[name]
        assert by_values.reward == by_dialogue.reward == float(status == "passed"), name
        if status is not None:
            assert [one.tests[0].status.value for one in found[name]] == [status] * 2, (name, found[name])
