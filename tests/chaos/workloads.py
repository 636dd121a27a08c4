"""Streams of requests with known answers, one for each server and one for sessions."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import httpx2 as httpx

from tests.chaos.outcomes import Outcome
from tests.load.test_http import body

ANSWER_S = 130.0
"""A request without any answer for so long hangs. The server is given less, and says so when it was not enough."""
HEADERS = {"X-Sandbox-Gym-Deadline-S": "100", "Content-Type": "application/json"}
SWE_ROWS = Path(__file__).parents[2] / "resources_servers" / "swe" / "data" / "example.jsonl"
Document = dict[str, Any]


class Workload(Protocol):
    """One stream. `number` decides the request."""

    name: str
    server: str
    settings: Mapping[str, str]
    requests: int
    """How many make up a cell."""
    at_once: int
    pace: float
    """A fault comes so many times more seldom than to others: a box that is lost takes longer to replace."""
    disk_mb: int

    async def ask(self, client: httpx.AsyncClient, number: int, chance: random.Random) -> Outcome: ...

    async def ask_right(self, client: httpx.AsyncClient, number: int) -> Outcome:
        """Something quick whose answer is right where the server serves."""
        ...


@dataclass(frozen=True)
class Case:
    """A verify, the reward it earned and, where that is 0, the status that its first failed test has by itself."""

    body: Document
    reward: float
    status: str = ""


async def post(
    client: httpx.AsyncClient, path: str, document: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> tuple[Outcome | None, Document]:
    """The reply, or what a request without one comes to."""
    try:
        reply = await client.post(path, content=json.dumps(document), headers={**HEADERS, **(headers or {})})
    except httpx.TimeoutException:
        return Outcome("wrong", f"no answer within {ANSWER_S:g} s"), {}
    except httpx.TransportError as error:
        return Outcome("unsent", type(error).__name__), {}
    try:
        answer: Document = reply.json()
    except ValueError:
        return Outcome("wrong", f"{reply.status_code}: {reply.text[:200]}"), {}
    if reply.status_code in (429, 503):
        kind = str(answer.get("failure_kind") or "")
        if not kind or "Retry-After" not in reply.headers:
            return Outcome("wrong", f"{reply.status_code} that says nothing: {reply.text[:200]}"), {}
        return Outcome("explicit", kind), {}
    if reply.status_code != 200:
        return Outcome("wrong", f"{reply.status_code}: {reply.text[:300]}"), {}
    return None, answer


async def judge(client: httpx.AsyncClient, case: Case, headers: Mapping[str, str] | None = None) -> Outcome:
    outcome, answer = await post(client, "/verify", case.body, headers)
    if outcome is not None:
        return outcome
    verdict = answer.get("verdict") or {}
    attempts = int(verdict.get("attempts", 1))
    if answer.get("mask_sample"):
        return Outcome("explicit", str(answer.get("failure_kind")), attempts)
    tests = verdict.get("tests", [])
    statuses = [test["status"] for test in tests if test["status"] not in ("passed", "skipped", "not_run")]
    status = statuses[0] if statuses else ""
    if answer["reward"] == case.reward and (case.reward or not case.status or status == case.status):
        return Outcome("right", "", attempts)
    why = [test["reason"] for test in tests if test["status"] == status][:1]
    said = f"{answer['reward']} for {case.reward}, {status or verdict.get('failure_reason')} {why}"
    wanted = f" for {case.status}" if case.status and not case.reward else ""
    return Outcome("wrong", f"{said}{wanted}, tamper {verdict.get('tamper')}", attempts)


SLOW = "import time\ntime.sleep({wait:.2f})\n"
RIGHT = "print(2 * int(input()))"
THREADS = """
import threading, time
seen = []
threads = [threading.Thread(target=lambda: (time.sleep(0.2), seen.append(1))) for _ in range(12)]
for one in threads: one.start()
for one in threads: one.join()
print(2 * int(input()) if len(seen) == 12 else -1)
"""
LARGE = """
import time
held = bytearray(b'x') * 120_000_000
time.sleep(0.4)
print(2 * int(input()))
"""
HUNGRY = "kept = []\nwhile True: kept.append(bytes(1_000_000) + b'x')"
COMPILED = """
#include <iostream>
// {number}
int main() {{ long long n; std::cin >> n; std::cout << 2 * n << std::endl; }}
"""
FUNCTION = "import time\ndef double(n):\n    time.sleep(0.2)\n    return {result}\n"


def compiled(number: int, chance: random.Random) -> Document:
    """A C++ program that no earlier request had compiled."""
    document = program("", number)
    source = COMPILED.format(number=chance.random())
    document["response"]["output"][0]["content"][0]["text"] = f"```cpp\n{source}\n```"
    document["verifier_metadata"]["language"] = "cpp"
    return document


def program(source: str, number: int) -> Document:
    tests = [str(number + test) for test in range(2)]
    return body(source, tests, [str(2 * int(text)) for text in tests])


@dataclass
class Coding:
    """Programs in two languages, functions and their tests: right, wrong, crashing, hungry and slow ones."""

    name: str = "coding"
    server: str = "coding"
    settings: Mapping[str, str] = field(
        default_factory=lambda: {"SANDBOX_GYM_MEMORY_LIMIT_MB": "256", "SANDBOX_GYM_TIME_LIMIT_S": "3"}
    )
    requests: int = 32
    at_once: int = 4
    pace: float = 1.0
    disk_mb: int = 48
    keyed: bool = False
    """Every second request has a key, so that its verdict must be on record."""

    compiled: bool = True
    """Some programs are C++."""

    def case(self, number: int, chance: random.Random) -> Case:
        wait = SLOW.format(wait=chance.uniform(0.2, 0.6))
        makers: list[Callable[[], Case]] = [
            lambda: Case(program(wait + RIGHT, number), 1.0),
            lambda: Case(program(wait + "print(int(input()))", number + 1), 0.0, "wrong_answer"),
            lambda: Case(program(THREADS, number), 1.0),
            lambda: Case(self._function("2 * n", number), 1.0),
            lambda: Case(program(LARGE, number), 1.0),
            lambda: Case(program(wait + "import os\nos.abort()", number), 0.0, "runtime_error"),
            lambda: Case(compiled(number, chance) if self.compiled else program(THREADS, number), 1.0),
            lambda: Case(self._function("n", number + 1), 0.0, "wrong_answer"),
            lambda: Case(program(wait + RIGHT, number), 1.0),
            lambda: Case(program(wait + HUNGRY, number), 0.0, "memory_limit"),
            lambda: Case(self._check("2 * n", number), 1.0),
            lambda: Case(self._check("n", number + 1), 0.0, "wrong_answer"),
        ]
        return makers[number % len(makers)]()

    @staticmethod
    def _function(result: str, number: int) -> Document:
        document: Document = body(FUNCTION.format(result=result), [], [])
        document["verifier_metadata"] = {
            "unit_tests": {"fn_name": "double", "inputs": [str(number)], "outputs": [str(2 * number)]}
        }
        return document

    @staticmethod
    def _check(result: str, number: int) -> Document:
        """Two programs that talk: either end may be lost."""
        document: Document = body(FUNCTION.format(result=result), [], [])
        test = f"def check(candidate):\n    n = {number}\n    while n < {number} + 3:\n"
        test += "        assert candidate(n) == 2 * n\n        n += 1\n"
        document["verifier_metadata"] = {"test": test, "entry_point": "double"}
        return document

    async def ask(self, client: httpx.AsyncClient, number: int, chance: random.Random) -> Outcome:
        key = {"Idempotency-Key": str(chance.random())} if self.keyed and number % 2 else None
        return await judge(client, self.case(number, chance), key)

    async def ask_right(self, client: httpx.AsyncClient, number: int) -> Outcome:
        return await judge(client, Case(program(RIGHT, number), 1.0))


HARD = (  # what only math-verify can tell, and takes it a while
    ("(x+{n})^{{9}}", "(x+{n})^{{4}} (x+{n})^{{5}}"),
    ("\\sin^2 x + \\cos^2 x + {n}", "1 + {n}"),
    ("(x+{n})(x-{n})", "x^2 - {n}^2"),
    ("\\ln(e^{{{n}}} x)", "{n} + \\ln x"),
)


@dataclass
class Math:
    """Expressions that a service's worker compares: right and wrong ones."""

    name: str = "math"
    server: str = "math"
    settings: Mapping[str, str] = field(default_factory=lambda: {"SANDBOX_GYM_MATH_WALL_TIME_S": "4"})
    requests: int = 40
    at_once: int = 3
    pace: float = 2.0
    disk_mb: int = 96

    async def ask(self, client: httpx.AsyncClient, number: int, chance: random.Random) -> Outcome:
        gold, answer = (side.format(n=chance.randrange(2, 10_000)) for side in self._pair(number, chance))
        wrong = number % 3 == 2
        return await judge(client, self._case(gold, answer + (" + 1" if wrong else ""), 0.0 if wrong else 1.0))

    @staticmethod
    def _pair(number: int, chance: random.Random) -> tuple[str, str]:
        gold, answer = HARD[number % len(HARD)]
        n = str(chance.randrange(2, 10_000))
        return gold.format(n=n).replace("{", "{{").replace("}", "}}"), answer.format(n=n).replace("{", "{{").replace(
            "}", "}}"
        )

    @staticmethod
    def _case(gold: str, answer: str, reward: float) -> Case:
        text = f"\\boxed{{{answer}}}"
        message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        asked = {"responses_create_params": {"input": []}, "response": {"output": [message]}}
        return Case({**asked, "question": "q", "expected_answer": gold}, reward)

    async def ask_right(self, client: httpx.AsyncClient, number: int) -> Outcome:
        return await judge(client, self._case(f"(x+{number})^2", f"x^2 + {2 * number} x + {number**2}", 1.0))


@dataclass
class Swe:
    """A repository's fix and half a fix; the instance is built before anything goes wrong."""

    name: str = "swe"
    server: str = "swe"
    settings: Mapping[str, str] = field(default_factory=dict)
    requests: int = 8
    at_once: int = 2
    pace: float = 2.0
    disk_mb: int = 200
    _row: Document = field(default_factory=lambda: json.loads(SWE_ROWS.read_text().splitlines()[0]))

    def _case(self, number: int) -> Case:
        fix = str(self._row["patch"])
        if number % 4 == 3:
            fix = fix.replace("+    if number % 100 in", f"+    if number % {200 + number} in")
        asked = {**self._row, "model_patch": fix, "responses_create_params": {"input": []}, "response": {"output": []}}
        return Case(asked, 0.0 if number % 4 == 3 else 1.0)

    async def ask(self, client: httpx.AsyncClient, number: int, chance: random.Random) -> Outcome:
        return await judge(client, self._case(number))

    async def ask_right(self, client: httpx.AsyncClient, number: int) -> Outcome:
        return await judge(client, self._case(0))


MACHINE_SAID = ("Resource temporarily unavailable", "Cannot allocate memory", "Killed", "MemoryError", "No space left")
"""In a tool's output the agent is told what the machine refused its command."""
SHELL_ENDED = "[the shell ended; the next call starts a new one]\n"


@dataclass
class Session:
    """Agents' calls, each of which can only have one output unless the sandbox is said to be lost."""

    name: str = "session"
    server: str = "coding"
    settings: Mapping[str, str] = field(
        default_factory=lambda: {
            "SANDBOX_GYM_SESSION_CHECKPOINT_S": "0.5",
            "SANDBOX_GYM_SESSION_SNAPSHOT_DISK_MB": "16",
        }
    )
    requests: int = 32
    at_once: int = 3
    pace: float = 1.5
    disk_mb: int = 64

    async def ask(self, client: httpx.AsyncClient, number: int, chance: random.Random) -> Outcome:
        wait = chance.uniform(0.1, 0.5)
        if number % 3 == 2:
            code = f"import time\ntime.sleep({wait:.2f})\n6 * {number}"
            return await self._call(client, "/python", {"code": code, "timeout_s": 20}, f"{6 * number}\n")
        command = f"sleep {wait:.2f}; echo $((6 * {number}))"
        if number % 3 == 1:
            command = f"echo {6 * number} > f{number}; sleep {wait:.2f}; cat f{number}"
        return await self._call(client, "/bash", {"command": command, "timeout_s": 20}, f"{6 * number}\n")

    async def ask_right(self, client: httpx.AsyncClient, number: int) -> Outcome:
        return await self._call(client, "/bash", {"command": f"echo {number}", "timeout_s": 20}, f"{number}\n")

    @staticmethod
    async def _call(client: httpx.AsyncClient, path: str, document: Document, output: str) -> Outcome:
        outcome, answer = await post(client, path, document)
        if outcome is not None:
            return outcome
        if answer["output"] == output:
            return Outcome("right")
        if answer.get("state_lost") is True:  # whether it ran or not, its reader knows
            return Outcome("right" if str(answer["output"]).endswith("]\n" + output) else "explicit", "state_lost")
        if str(answer["output"]).endswith(SHELL_ENDED):
            return Outcome("explicit", "shell ended")
        said = [word for word in MACHINE_SAID if word in str(answer)]
        return Outcome("explicit", said[0]) if said else Outcome("wrong", f"{path}: {answer}"[:400])


WORKLOADS: dict[str, Callable[[], Workload]] = {"coding": Coding, "math": Math, "swe": Swe, "session": Session}
