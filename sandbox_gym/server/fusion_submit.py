"""SandboxFusion's /submit over the tests that come with it: our judge, its answer."""

from __future__ import annotations

import json
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from sandbox_gym.contract import Answer, Outcome, State, Status, TestStatus, Verdict, answers_outcome
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.server.exchange import ToolFailed
from sandbox_gym.server.fusion import Timeouts, named, ran, sandbox_error, tightened
from sandbox_gym.server.resources import JudgingEngine, ToolCall
from sandbox_gym.server.wire import Document, check_shape, verdict_document
from sandbox_gym.verifiers.coding import CodingVerifier, extract_code, parse_task

SHOWN_BYTES: Final = 64 * 1024
_REMEDY: Final = "give config.provided_data a test list of {input: {stdin}, output: {stdout}}, or a verifier_metadata"


class _Extra(BaseModel):
    model_config = ConfigDict(extra="ignore")

    run_all_cases: bool = False


class _Config(Timeouts):
    language: str = "python"
    provided_data: dict[str, object] = Field(default_factory=dict)
    extra: _Extra = Field(default_factory=_Extra)
    custom_extract_logic: str | None = None


class _Submit(BaseModel):
    model_config = ConfigDict(extra="ignore")

    dataset: str = ""
    id: str | int = ""
    completion: str
    config: _Config = Field(default_factory=_Config)


class FusionSubmit:
    """The judge, under the server's caps."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    async def submit(self, engine: JudgingEngine, call: ToolCall) -> Document:
        """POST {dataset, id, completion, config: {language, provided_data}} -> EvalResult."""
        wanted = check_shape(_Submit, call.arguments)
        config = wanted.config
        if config.custom_extract_logic:
            raise RequestError("config.custom_extract_logic", "is a program for the judge", "leave it out")
        language = named(config.language)
        metadata, cases = _metadata(config.provided_data)
        row = {"language": language.name, **metadata}
        limits = tightened(self._limits, config)
        task = parse_task(row, limits=limits, early_stop=not config.extra.run_all_cases)
        try:
            verdict, _plan, state = await engine.judged(
                CodingVerifier(), task, Answer(wanted.completion), caller=config.caller(call.caller)
            )
        except Unavailable as error:
            raise sandbox_error(error) from error
        if verdict.failure_reason == TestStatus.CHECKER_FAILED:
            raise ToolFailed({"status": "SandboxError", "message": "the row's own checker failed"}, 503, 60)
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


def _tests(verdict: Verdict, state: State | None, cases: list[object]) -> list[Document]:
    """Each test that was run, or that its program's compiler kept from it."""
    tests: list[Document] = []
    for test in verdict.tests:
        outcome = None if state is None else _outcome(state, test.index)
        if state is None or outcome is None or test.status is TestStatus.SKIPPED:
            continue
        info = ran(state, outcome, compiled=all(outcome is not built for built in state.builds)).document({})
        info["message"] = test.reason
        result = info["run_result"]
        if isinstance(result, dict):
            for stream in ("stdout", "stderr"):
                result[stream] = str(result[stream])[:SHOWN_BYTES]
        case = cases[test.index] if test.index < len(cases) else None
        tests.append({"passed": test.status is TestStatus.PASSED, "exec_info": info, "test_info": case})
    return tests


def _outcome(state: State, index: int) -> Outcome | None:
    """What the answer's program did in a test, or the compiler that failed before it."""
    step = state.outcomes[index] if index < len(state.outcomes) else None
    if step is not None:
        return answers_outcome(step)
    return next((built for built in state.builds if built.status is not Status.OK), None)
