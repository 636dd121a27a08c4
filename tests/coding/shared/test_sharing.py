"""Ordinary answers share a process over their tests. Where they do not, verdicts are the same and the rate falls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.guest.python import traces
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

pytestmark = pytest.mark.anyio
NUMBERS = [str(number) for number in range(6)]
STDIN = {"unit_tests": {"inputs": NUMBERS, "outputs": [str(2 * int(one)) for one in NUMBERS]}}
CALLS = {"unit_tests": {**STDIN["unit_tests"], "fn_name": "double"}}
ANSWERS = {
    "input": (STDIN, "print(2 * int(input()))"),
    "a main guard": (STDIN, "def main():\n    print(int(input()) * 2)\nif __name__ == '__main__':\n    main()"),
    "sys": (STDIN, "import sys\ndata = sys.stdin.buffer.read().split()\nsys.stdout.write(str(2 * int(data[0])))"),
    "imports": (STDIN, "import heapq, math, re, collections\nfrom functools import lru_cache\nprint(2 * int(input()))"),
    "json": (
        STDIN,
        "import json, re, copy\nprint(json.loads(json.dumps({'a': 2 * int(re.sub(' ', '', input()))}))['a'])",
    ),
    "numbers": (
        STDIN,
        "from fractions import Fraction\nfrom decimal import *\nimport statistics, random\ngetcontext().prec = 50\n"
        "random.seed(3); statistics.mean([1, 2])\nprint(int(Fraction(input()) * Decimal(2).__int__()))",
    ),
    "dates": (STDIN, "import datetime, calendar\ndatetime.datetime.strptime('2020', '%Y')\nprint(2 * int(input()))"),
    "classes": (
        STDIN,
        "from dataclasses import dataclass\nfrom typing import *\nfrom enum import Enum\nimport abc, collections.abc\n"
        "class A(abc.ABC): pass\nisinstance(A(), collections.abc.Sized)\nE = Enum('E', 'a b')\n"
        "@dataclass(order=True)\nclass P:\n    x: Dict[str, List[int]]\nP({})\nprint(2 * int(input()))",
    ),
    "tasks": (STDIN, "import asyncio\nasyncio.run(asyncio.sleep(0))\nprint(2 * int(input()))"),
    "texts": (STDIN, "import html, textwrap, pprint\npprint.pformat({1: html.unescape('&')})\nprint(2 * int(input()))"),
    "a cache": (STDIN, "import functools\nf = functools.cache(lambda n: 2 * n)\nprint(f(int(input())))"),
    "sizes": (
        STDIN,
        "import os, sys\nclass Fast:\n    def __init__(self, file):\n        self._fd = file.fileno()\n"
        "    def read(self):\n        return os.read(self._fd, max(os.fstat(self._fd).st_size, 8192))\n"
        "print(2 * int(Fast(sys.stdin).read().decode()))",
    ),
    "a function": (CALLS, "def double(n):\n    return 2 * n"),
    "a class": (CALLS, "class Solution:\n    def double(self, n: int) -> int:\n        return 2 * n"),
}


async def test_ordinary_answers_share() -> None:
    found = {}
    async with open_engine(Settings(provider="local", boxes=2)) as engine:
        for name, (row, code) in ANSWERS.items():
            task = parse_task(row, limits=Settings().limits(), early_stop=True)
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{code}\n```"))).verdict
            found[name] = verdict.reward, verdict.processes, verdict.checked
    assert found == dict.fromkeys(ANSWERS, (1.0, "shared", 1))


asks_for_sizes_only: Callable[[bytes], bool] = traces.asks_for_sizes_only
SIZE = "os.fstat(sys.stdin.fileno()).st_size"
AGES = (
    "os.fstat(0)[8]", "os.fstat(0).st_mtime", "os.fstat(0).st_size_", "f = os.fstat", "os.fstat( # ).st_size\n0)[8]",
    "os.fstat('').st_size", "from os import fstat as f", "os.\uff46stat(0)[8]",
)  # fmt: skip


@pytest.mark.parametrize("age", AGES)
def test_a_size_says_nothing_of_a_files_age(age: str) -> None:
    assert asks_for_sizes_only(f"import os, sys\nn = {SIZE} or os.fstat(self._fd).st_size".encode())
    for source in (age, f"{SIZE}\n{age}", f"{age}\n# {SIZE}"):
        assert not asks_for_sizes_only(source.encode()), source
    assert not asks_for_sizes_only(f"# coding: utf-7\n{SIZE}\nos.+AGY-stat(0)[8]".encode())
