"""What a coding agent may call while it works: run a program, run the public tests.

Answers go to a model as they are, so they are short and plain. Hidden tests never come near here.
"""

from __future__ import annotations

from pydantic import BaseModel
from typing_extensions import TypedDict

from sandbox_gym.contract import Answer, TestStatus
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.tools.shapes import tool_method
from sandbox_gym.verifiers.coding import (
    CodingVerifier,
    fenced,
    known_language,
    parse_task,
    program_outcome,
    program_plan,
)

SHOWN_BYTES = 64 * 1024
"""The most of one stream that goes back to the model."""
REASON_CHARS = 2048


class RunCode(BaseModel):
    """A program to run once."""

    language: str = "python"
    code: str
    stdin: str = ""


class CodeRan(TypedDict):
    """What the program printed and how it ended; each stream cut to 64 KiB."""

    status: str
    exit_code: int | None
    signal: int | None
    stdout: str
    stderr: str
    stdout_cut_bytes: int
    stderr_cut_bytes: int
    cpu_time_s: float
    wall_time_s: float
    peak_memory_bytes: int
    detail: str


class RunPublicTests(BaseModel):
    """A program, and public tests unless the session was seeded with some."""

    language: str = "python"
    code: str
    public_tests: dict[str, object] | None = None


class PublicTest(TypedDict):
    """How the program did in one test."""

    index: int
    status: TestStatus
    reason: str
    cpu_time_s: float


class PublicTestsRan(TypedDict):
    """How the program did in all of them."""

    passed: int
    total: int
    failure_reason: str
    tests: list[PublicTest]


class CodingTools:
    """The two tools, under the same caps as a test of a verify."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @tool_method(RunCode, CodeRan)
    async def run_code(self, engine: Engine, call: ToolCall, wanted: RunCode) -> CodeRan:
        """Run a program: what it printed and how it ended."""
        language = known_language(wanted.language, "language")
        code, stdin = (text.encode("utf-8", "replace").decode() for text in (wanted.code, wanted.stdin))
        state = await engine.run(program_plan(language, code, stdin, self._limits), caller=call.caller)
        outcome, compiled = program_outcome(language, state)
        stdout, stdout_cut = _shown(outcome.stdout)
        stderr, stderr_cut = _shown(outcome.stderr)
        return {
            "status": outcome.status.value if compiled else "compile_error",
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "stdout": stdout,
            "stderr": stderr,
            "stdout_cut_bytes": stdout_cut,
            "stderr_cut_bytes": stderr_cut,
            "cpu_time_s": outcome.cpu_time_s,
            "wall_time_s": outcome.wall_time_s,
            "peak_memory_bytes": outcome.peak_memory_bytes,
            "detail": outcome.detail,
        }

    @tool_method(RunPublicTests, PublicTestsRan)
    async def run_tests(self, engine: Engine, call: ToolCall, wanted: RunPublicTests) -> PublicTestsRan:
        """Run the public tests, the session's or the body's: each one's result."""
        language = known_language(wanted.language, "language")
        tests = call.public_tests if call.public_tests is not None else wanted.public_tests
        if tests is None:
            remedy = "seed the session with a row that has public_tests, or send public_tests {inputs, outputs}"
            raise RequestError("public_tests", "is missing: this task has no public tests", remedy)
        try:
            task = parse_task({"unit_tests": tests, "language": language.name}, limits=self._limits, early_stop=False)
        except RequestError as error:
            field = error.field.rpartition("unit_tests")[2]
            raise RequestError(f"public_tests{field}", error.problem, error.remedy) from None
        answer = Answer(fenced(wanted.code, task.language))
        verdict = (await engine.verify(CodingVerifier(), task, answer, caller=call.caller)).verdict
        return {
            "passed": sum(test.status == "passed" for test in verdict.tests),
            "total": len(verdict.tests),
            "failure_reason": verdict.failure_reason[:REASON_CHARS],
            "tests": [
                {
                    "index": test.index,
                    "status": test.status,
                    "reason": test.reason[:REASON_CHARS],
                    "cpu_time_s": test.cpu_time_s,
                }
                for test in verdict.tests
            ],
        }


def _shown(stream: bytes) -> tuple[str, int]:
    return stream[:SHOWN_BYTES].decode("utf-8", "replace"), max(0, len(stream) - SHOWN_BYTES)
