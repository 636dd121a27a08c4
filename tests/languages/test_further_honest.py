"""Right programs of the further languages earn on each of their tests, others end as they should, and hostile ones of
every kind earn nothing and leave nothing behind. On docker, in the whole run alone; on `local` what this machine has.

`further/` has the programs, a folder for each language. Right ones, `words`: count words, the most frequent first;
`big`: 200,000 numbers in a line; `text`: how many letters a line has, and the line backwards; `path`: a sum of
distances, with six digits; `deep`: a recursion of as many levels as the input says; `code`: print 42 and end with the
exit code that the input says. Others, `broken`: a name that is not there; `silent`: no output; `crash`: a fault of the
language's own; `endless`: a recursion; `table`: one that grows; `churn`: memory taken and given back; `noise`: lines on
standard error; `bomb`: what no compiler comes to an end with.
"""

from __future__ import annotations

import itertools
import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.verifiers.coding import parse_task
from tests.languages.further_programs import PROGRAMS, named
from tests.languages.test_further import EVERYWHERE, engine, verdict_of

__all__ = ["engine"]
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(1800)]
FOLDER = Path(__file__).with_name("further")
TASKS = ("words", "big", "text", "path", "deep", "code")
DEPTH = {"ruby": 9000, "r": 1500, "verilog": 2000}
"""Levels that a program of the language may have where it is started plainly on a terminal, if fewer than 50,000."""
WAYS = {
    "broken": {"CE"},
    "silent": {"WA"},
    "crash": {"RTE"},
    "endless": {"RTE", "MLE"},
    "table": {"MLE"},
    "churn": {"TLE"},
    "noise": {"OLE"},
    "bomb": {"CE"},
}
"""The contest's verdicts that are right. What has no end may be ended by the stack or by the memory."""
SECRET = "a-secret-of-this-machine"
_FALSE = "printf '#!/bin/sh\\necho 42\\n' > /tmp/x; chmod 755 /tmp/x"
HOSTILE = {
    "fork": ("bomb() { bomb | bomb & }; bomb; sleep 2", "while :; do sleep 50 & done"),
    "memory": ("head -c 4000000000 /dev/zero | tail", "python3 -c 'a = [bytearray(1 << 20) for _ in range(10**6)]'"),
    "flood": ("yes", "cat /dev/zero; cat /dev/zero >&2"),
    "read": (
        "cat FOLDER/secret /etc/shadow /proc/1/environ",
        "cat /proc/*/environ /proc/*/root/etc/shadow /proc/*/root/FOLDER/secret; find / -name secret -exec cat {} +",
    ),
    "network": (
        "bash -c 'echo x > /dev/tcp/127.0.0.1/PORT'",
        "python3 -c 'import socket; socket.create_connection((socket.gethostname(), PORT), 2)'",
    ),
    "child": (
        "setsid sleep 1000 >/dev/null 2>&1 &",
        "(sleep 0.5; while :; do for f in /proc/[0-9]*/fd/1; do echo 42 > $f; done; done) >/dev/null 2>&1 &",
    ),
    "cache": (
        f"{_FALSE}; for f in main* Main*; do rm -f ./$f; cp /tmp/x $f; done",
        f"{_FALSE}; find / -xdev -type f -writable -not -path '/proc/*' -exec cp /tmp/x {{}} ';'; "
        "touch /opt/sandbox-gym/compilers/x; rm -rf /opt/sandbox-gym/compilers",
    ),
}
"""Two of each kind; what each language's `shell` does with one."""


def program(language: str, name: str) -> str:
    return next((FOLDER / language).glob(f"{name}.*")).read_text()


def numbers_of(words: list[int]) -> str:
    return f"{sum(words)} {max(words)} {len(set(words))}\n"


def cases_of(task: str, language: str) -> list[tuple[str, str]]:
    """Inputs and what a right program prints."""
    chance = random.Random(task)
    if task == "words":
        words = [chance.choice(("tree", "leaf", "root", "bark", "seed", "twig")) for _ in range(60)]
        ordered = sorted(Counter(words).items(), key=lambda one: (-one[1], one[0]))
        return [("\n".join([str(len(words)), *words]) + "\n", "".join(f"{word} {count}\n" for word, count in ordered))]
    if task == "big":
        numbers = [chance.randrange(-(10**6), 10**6) for _ in range(200_000)]
        return [(f"{len(numbers)}\n{' '.join(map(str, numbers))}\n", numbers_of(numbers)), ("1\n-5\n", "-5 -5 1\n")]
    if task == "text":
        lines = ["plain", "h\u00e9llo w\u00f6rld", "\u65e5\u672c\u8a9e \u0416", "a\U0001f600b", "\u03a9" * 500]
        return [(f"{line}\n", f"{len(line)}\n{line[::-1]}\n") for line in lines]
    if task == "path":
        points = [(chance.uniform(-100, 100), chance.uniform(-100, 100)) for _ in range(50)]
        sums = sum(((c - a) ** 2 + (d - b) ** 2) ** 0.5 for (a, b), (c, d) in itertools.pairwise(points))
        shown = "".join(f"{x!r} {y!r}\n" for x, y in points)
        return [(f"{len(points)}\n{shown}", f"{sums:.6f}\n"), ("2\n0.0 0.0\n3.0 4.0\n", "5.000000\n")]
    if task == "deep":
        return [(f"{depth}\n", f"{depth}\n") for depth in (0, 100, DEPTH.get(language, 50_000))]
    return [("0\n", "42\n"), ("3\n", "42\n")]


async def judged(engine: Engine, language: str, source: str, tests: list[tuple[str, str]]) -> Verdict:
    row: dict[str, object] = {"language": language, "time_limit_s": 3, "memory_limit_mb": 256}
    row["unit_tests"] = {"inputs": [given for given, _ in tests], "outputs": [wanted for _, wanted in tests]}
    task = parse_task(row, limits=Settings().limits(), early_stop=False)
    return await verdict_of(engine, task, Answer(f"~~~~{language}\n{source}\n~~~~"))


@pytest.mark.parametrize(("provider", "name"), EVERYWHERE)
async def test_right_programs_earn(engine: Engine, provider: str, name: str) -> None:
    """Of `code` the second test ends with exit code 3, which is a runtime error."""
    wrong: list[object] = []

    async def one(task: str, slots: anyio.Semaphore) -> None:
        async with slots:
            verdict = await judged(engine, name, program(name, task), cases_of(task, name))
        found = [test.status.value for test in verdict.tests]
        wanted = ["passed", "runtime_error"] if task == "code" else ["passed"] * len(cases_of(task, name))
        if found != wanted or verdict.tamper:
            wrong.append((task, found, verdict.tests[0].reason, verdict.tests[-1].reason, verdict.tamper))

    async with anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(2)
        for task in TASKS:
            tasks.start_soon(one, task, slots)
    assert wrong == []


@pytest.mark.parametrize(("provider", "name"), EVERYWHERE)
async def test_other_programs_end_as_they_should(engine: Engine, provider: str, name: str) -> None:
    wrong: list[object] = []

    async def one(way: str, slots: anyio.Semaphore) -> None:
        async with slots:
            verdict = await judged(engine, name, program(name, way), [("21\n", "42\n")])
        wanted = WAYS["crash" if way == "broken" and not named(name).compile else way]
        if verdict.contest not in wanted or verdict.reward:
            wrong.append((way, verdict.contest, verdict.tests[0].status.value, verdict.tests[0].reason))

    async with anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(2)
        for way in (way for way in WAYS if list((FOLDER / name).glob(f"{way}.*"))):
            tasks.start_soon(one, way, slots)
    assert wrong == []


@contextmanager
def listening() -> Iterator[tuple[int, threading.Event]]:
    """A port of this machine, and whether a program came through to it."""
    reached = threading.Event()
    with socket.create_server(("0.0.0.0", 0)) as server:
        server.settimeout(0.2)

        def listen() -> None:
            while server.fileno() >= 0:
                try:
                    server.accept()[0].close()
                    reached.set()
                except TimeoutError:
                    continue
                except OSError:
                    return

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield server.getsockname()[1], reached
        finally:
            server.close()
            thread.join(5)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize(("provider", "name"), [one for one in EVERYWHERE if one.values[1] != "verilog"])
async def test_hostile_programs_earn_nothing(
    engine: Engine, provider: str, name: str, kind: str, tmp_path: Path
) -> None:
    """Three tests of each, so that what one run left would serve the next; then a right program is judged."""
    (tmp_path / "secret").write_text(SECRET)
    language = PROGRAMS[name]
    with listening() as (port, reached):
        for command in HOSTILE[kind]:
            made = command.replace("FOLDER", str(tmp_path)).replace("PORT", str(port))
            escaped = made.replace("\\", "\\\\").replace("$", "\\$" if name in ("perl", "php", "kotlin") else "$")
            for _ in range(2):
                verdict = await judged(engine, name, language.program("shell", escaped), [("21\n", "42\n")] * 3)
                found = {test.status.value for test in verdict.tests}
                assert not found & {"passed", "compile_error"}, (command, verdict)
                assert SECRET not in str(verdict), command
                assert "root:" not in str(verdict), command
            right = await judged(engine, name, language.program("right"), [("21\n", "42\n")] * 2)
            assert right.reward == 1.0, (command, right)
        assert not reached.is_set(), kind
