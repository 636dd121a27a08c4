"""What a coding agent may call while it works: run a program, run the public tests.

Answers go to a model as they are, so they are short and plain. Hidden tests never come near here.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from sandbox_gym.contract import Answer
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.server.resources import JudgingEngine, ToolCall
from sandbox_gym.server.wire import Document, check_shape
from sandbox_gym.verifiers.coding import (
    LANGUAGES,
    CodingVerifier,
    Language,
    fenced,
    language_named,
    parse_task,
    program_outcome,
    program_plan,
)

SHOWN_BYTES = 64 * 1024
"""The most of one stream that goes back to the model."""
REASON_CHARS = 2048


class _RunCode(BaseModel):
    model_config = ConfigDict(extra="ignore")

    language: str = "python"
    code: str
    stdin: str = ""


class _RunTests(BaseModel):
    model_config = ConfigDict(extra="ignore")

    language: str = "python"
    code: str
    public_tests: dict[str, object] | None = None


class CodingTools:
    """The two tools, under the same caps as a test of a verify."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    async def run_code(self, engine: JudgingEngine, call: ToolCall) -> Document:
        """POST /run_code {language, code, stdin?}: what the program printed and how it ended."""
        wanted = check_shape(_RunCode, call.arguments)
        language = _language(wanted.language)
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

    async def run_tests(self, engine: JudgingEngine, call: ToolCall) -> Document:
        """POST /run_tests {code, public_tests?}: each public test's result, the session's or the body's."""
        wanted = check_shape(_RunTests, call.arguments)
        language = _language(wanted.language)
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
        verdict, _plan, _state = await engine.judged(CodingVerifier(), task, answer, caller=call.caller)
        return {
            "passed": sum(test.status == "passed" for test in verdict.tests),
            "total": len(verdict.tests),
            "failure_reason": verdict.failure_reason[:REASON_CHARS],
            "tests": [
                {
                    "index": test.index,
                    "status": test.status.value,
                    "reason": test.reason[:REASON_CHARS],
                    "cpu_time_s": test.cpu_time_s,
                }
                for test in verdict.tests
            ],
        }


def _language(name: str) -> Language:
    language = language_named(name)
    if language is None:
        known = ", ".join(one.name for one in LANGUAGES)
        raise RequestError("language", f"is {name[:40]!r}, which this server doesn't run", f"send one of {known}")
    return language


def _shown(stream: bytes) -> tuple[str, int]:
    return stream[:SHOWN_BYTES].decode("utf-8", "replace"), max(0, len(stream) - SHOWN_BYTES)
