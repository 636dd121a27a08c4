"""SandboxFusion's /submit over the tests that come with it: our judge, its answer."""

from __future__ import annotations

import json
from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from sandbox_gym.contract import Answer, Outcome, State, Status, TestStatus, Verdict, answers_outcome
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.server.coding.sandbox_fusion import (
    FusionFailed,
    FusionRan,
    Timeouts,
    named,
    ran,
    sandbox_error,
    tightened,
)
from sandbox_gym.server.protocol.exchange import ToolFailed
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.verdicts import VerdictDocument, verdict_document
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.tools.shapes import tool_method
from sandbox_gym.verifiers.coding import CodingVerifier, extract_code, parse_task

SHOWN_BYTES: Final = 64 * 1024
_REMEDY: Final = "give config.provided_data a test list of {input: {stdin}, output: {stdout}}, or a verifier_metadata"


class FusionExtra(BaseModel):
    """Of a config: what is our own."""

    model_config = ConfigDict(extra="ignore")

    run_all_cases: bool = False


class FusionConfig(Timeouts):
    """SandboxFusion's TestConfig."""

    language: str = "python"
    provided_data: dict[str, object] = Field(default_factory=dict)
    extra: FusionExtra = Field(default_factory=FusionExtra)
    custom_extract_logic: str | None = None


class FusionSubmitRequest(BaseModel):
    """SandboxFusion's SubmitRequest."""

    model_config = ConfigDict(extra="ignore")

    dataset: str = ""
    id: str | int = ""
    completion: str
    config: FusionConfig = Field(default_factory=FusionConfig)


class FusionTest(TypedDict):
    """One test: whether it passed, its run, and the case as it came."""

    passed: bool
    exec_info: FusionRan
    test_info: object


class FusionVerdict(TypedDict):
    """What SandboxFusion has no field for."""

    reward: float
    verdict: VerdictDocument


class FusionResult(TypedDict):
    """SandboxFusion's EvalResult."""

    id: str | int
    accepted: bool
    extracted_code: str
    full_code: None
    test_code: None
    tests: list[FusionTest]
    extracted_type: None
    extra: FusionVerdict


class FusionSubmit:
    """The judge, under the server's caps."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @tool_method(FusionSubmitRequest, FusionResult)
    async def submit(self, engine: Engine, call: ToolCall, wanted: FusionSubmitRequest) -> FusionResult:
        """Judge a completion by the tests that come with it, as SandboxFusion does."""
        config = wanted.config
        if config.custom_extract_logic:
            raise RequestError("config.custom_extract_logic", "is a program for the judge", "leave it out")
        language = named(config.language)
        metadata, cases = _metadata(config.provided_data)
        row = {"language": language.name, **metadata}
        limits = tightened(self._limits, config)
        task = parse_task(row, limits=limits, early_stop=not config.extra.run_all_cases)
        try:
            verification = await engine.verify(
                CodingVerifier(), task, Answer(wanted.completion), caller=config.caller(call.caller)
            )
        except Unavailable as error:
            raise sandbox_error(error) from error
        verdict, state = verification.verdict, verification.state
        if verdict.failure_reason == TestStatus.CHECKER_FAILED:
            failed: FusionFailed = {"status": "SandboxError", "message": "the row's own checker failed"}
            raise ToolFailed(failed, 503, 60)
        code = extract_code(wanted.completion, task.language) or ""
        return {
            "id": wanted.id,
            "accepted": verdict.reward == 1.0,
            "extracted_code": code,
            "full_code": None,
            "test_code": None,
            "tests": _tests(verdict, state, cases),
            "extracted_type": None,
            "extra": {"reward": verdict.reward, "verdict": verdict_document(verdict)},
        }


def _metadata(provided: Document) -> tuple[Document, list[object]]:
    """A row's verifier_metadata, and its cases as they came. Raises RequestError."""
    own = provided.get("verifier_metadata")
    if isinstance(own, dict):
        return own, []
    cases = provided.get("test")
    if isinstance(cases, str):
        try:
            cases = json.loads(cases)
        except (ValueError, RecursionError):
            cases = None
    if not isinstance(cases, list) or not cases:
        raise RequestError("config.provided_data.test", "is no list of tests", _REMEDY)
    inputs = [_text(case, "input", "stdin", index) for index, case in enumerate(cases)]
    outputs = [_text(case, "output", "stdout", index) for index, case in enumerate(cases)]
    return {"unit_tests": {"inputs": inputs, "outputs": outputs}}, cases


def _text(case: object, side: str, name: str, index: int) -> str:
    held = case.get(side) if isinstance(case, dict) else None
    text = held.get(name, "" if side == "input" else None) if isinstance(held, dict) else None
    if not isinstance(text, str):
        raise RequestError(f"config.provided_data.test[{index}].{side}.{name}", "is no text", _REMEDY)
    return text


def _tests(verdict: Verdict, state: State | None, cases: list[object]) -> list[FusionTest]:
    """Each test that was run, or that its program's compiler kept from it."""
    tests: list[FusionTest] = []
    for test in verdict.tests:
        outcome = None if state is None else _outcome(state, test.index)
        if state is None or outcome is None or test.status is TestStatus.SKIPPED:
            continue
        info = ran(state, outcome, compiled=all(outcome is not built for built in state.builds)).document({})
        info["message"] = test.reason
        result = info["run_result"]
        if result is not None:
            result["stdout"], result["stderr"] = result["stdout"][:SHOWN_BYTES], result["stderr"][:SHOWN_BYTES]
        case = cases[test.index] if test.index < len(cases) else None
        tests.append({"passed": test.status is TestStatus.PASSED, "exec_info": info, "test_info": case})
    return tests


def _outcome(state: State, index: int) -> Outcome | None:
    """What the answer's program did in a test, or the compiler that failed before it."""
    step = state.outcomes[index] if index < len(state.outcomes) else None
    if step is not None:
        return answers_outcome(step)
    return next((built for built in state.builds if built.status is not Status.OK), None)
