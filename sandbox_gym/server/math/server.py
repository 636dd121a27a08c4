"""The math resources server: NeMo Gym's math_with_judge, math_with_code and ns_tools on the wire.

A composition point: the server and the command verify through the same lines here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from sandbox_gym import judging
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.server.math.judge_model import MAX_ANSWER_CHARS, EquivalenceJudge, Evaluation, judge_from
from sandbox_gym.server.math.tools import MathTools
from sandbox_gym.server.metrics.aggregate import aggregate_metrics
from sandbox_gym.server.metrics.pass_at_k import accuracy
from sandbox_gym.server.openapi import examples
from sandbox_gym.server.protocol.resources import Tool, VerifyResult
from sandbox_gym.server.protocol.verdicts import verdict_document
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest
from sandbox_gym.server.tools.files import FILE_TOOLS
from sandbox_gym.server.tools.session_tools import bash, python
from sandbox_gym.settings.verifiers import OPTIONS
from sandbox_gym.verifiers.math import MathOptions, MathTask, MathVerifier, after_thinking, ask, last_box, parse_task

WITH_JUDGE: Final = "math_with_judge"
WITH_CODE: Final = "math_with_code"
DELEGATES: Final = (WITH_JUDGE, WITH_CODE)
CODE_TOLERANCE: Final = 1e-6
_ROW = ("question", "expected_answer", "expected_result", "expected_code_contains", "math_options", "verifier_type")
_TOOL_TEXT = "tool_answer"
MAX_TOOL_TEXT: Final = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFields(VerifyFields):
    """NeMo Gym's math_with_judge."""

    expected_answer: str
    extracted_answer: str | None = None
    library_reward: float = 0.0
    judge_evaluations: list[Document] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MathCodeFields(VerifyFields):
    """NeMo Gym's math_with_code."""

    extracted_answer: str | None = None
    accuracy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegatedFields(VerifyFields):
    """NeMo Gym's ns_tools: what the verifier that it delegates to said, and what the tools took."""

    delegated_response: Document
    total_tool_execution_time_seconds: float = 0.0
    num_tool_calls: int = 0
    avg_tool_call_time_seconds: float = 0.0
    tool_timeout_count: int = 0
    tool_request_timeout_count: int = 0


class MathResources:
    """Which wire a row speaks is told by its fields: `expected_result` is math_with_code's, a `verifier_type` (or a
    call of `stateful_python_code_exec`) ns_tools', all else math_with_judge's. The setting `math_wire` fixes one."""

    def __init__(self, settings: Settings, *, name: str = "math") -> None:
        self.name = name
        self.kind = "math"
        self._base = MathTask(
            "",
            options=MathOptions(**settings.math.model_dump(include=set(OPTIONS))),
            limits=Limits(cpu_time_s=settings.math.cpu_time_s, wall_time_s=settings.math.wall_time_s),
            worker_memory_bytes=settings.math.worker_memory_mb * MIB,
        )
        self._wire = settings.math.wire
        self._mask_undecided = settings.math.mask_undecided
        self._judge: EquivalenceJudge | None = judge_from(settings.judge)
        self._tools = MathTools(settings.math.tool_timeout_s, settings.math.tool_output_chars)

    @property
    def tools(self) -> Mapping[str, Tool]:
        return {
            "execute_python": self._tools.execute_python,
            "end_session": self._tools.end_session,
            "stateful_python_code_exec": self._tools.stateful_python_code_exec,
            "bash": bash,
            "python": python,
            **FILE_TOOLS,
        }

    @property
    def verify_fields(self) -> Sequence[type[VerifyFields]]:
        return (JudgeFields, MathCodeFields, DelegatedFields)

    @property
    def verify_examples(self) -> Mapping[str, Document]:
        return examples.MATH

    def row(self, body: Document) -> Document:
        """The task's fields, and what the tools printed where an answer may be found in it."""
        body = _lifted(body)
        found = {name: body[name] for name in _ROW if body.get(name) is not None}
        printed = _tool_text(body)
        return {**found, _TOOL_TEXT: printed} if printed else found

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        """A session begins empty."""

    def public_tests(self, row: Document) -> Document | None:
        """Math rows show none."""
        return None

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
        request = replace(request, body=_lifted(request.body))
        wire = self._wire if self._wire != "auto" else _wire_of(request.body)
        if wire == "ns_tools":
            return await self._delegated(engine, request, caller)
        return await self._plain(wire, engine, request, caller)

    async def _plain(self, wire: str, engine: Engine, request: VerifyRequest, caller: Caller) -> VerifyResult:
        if wire == WITH_CODE:
            return await self._with_code(engine, request, caller)
        return await self._with_judge(engine, request, caller)

    async def _with_judge(self, engine: Engine, request: VerifyRequest, caller: Caller) -> VerifyResult:
        task = parse_task(request.body, self._base)
        answer = Answer(request.output_text)
        verifier = MathVerifier()
        verification = await engine.verify(verifier, task, answer, caller=caller)
        verdict, state = verification.verdict, verification.state
        extracted = await judging.read(judging.state_bytes(state), partial(verifier.extracted, task, answer, state))
        asked = extracted or _judgeable(answer.text, task.options)
        library_reward, evaluations = verdict.reward, None
        if self._judge is not None and asked and verdict.reward <= 0.5:
            equal, evaluations = await self._judge.equal(task.question, task.expected_answer, asked)
            verdict = _judged(verdict, equal)
        fields = JudgeFields(
            reward=verdict.reward,
            expected_answer=task.expected_answer,
            extracted_answer=extracted,
            library_reward=library_reward,
            judge_evaluations=None if evaluations is None else [_document(each) for each in evaluations],
            verdict=verdict_document(verdict),
            **self._failure(verdict),  # type: ignore[arg-type]
        )
        return VerifyResult(fields, verification.judgements)

    async def _with_code(self, engine: Engine, request: VerifyRequest, caller: Caller) -> VerifyResult:
        options = replace(self._base.options, boxed_only=True)
        base = replace(self._base, options=options, relative_tolerance=CODE_TOLERANCE)
        task = parse_task(request.body, base, gold_field="expected_result")
        text = request.output_text if last_box(request.output_text) else _tool_text(request.body)
        verification = await engine.verify(MathVerifier(), task, Answer(text), caller=caller)
        verdict = verification.verdict
        fields = MathCodeFields(
            reward=verdict.reward,
            extracted_answer=ask(task, text).extracted,
            accuracy=verdict.reward == 1.0,
            verdict=verdict_document(verdict),
            **self._failure(verdict),  # type: ignore[arg-type]
        )
        return VerifyResult(fields, verification.judgements)

    async def _delegated(self, engine: Engine, request: VerifyRequest, caller: Caller) -> VerifyResult:
        kind = request.body.get("verifier_type") or WITH_JUDGE
        if kind not in DELEGATES:
            raise RequestError("verifier_type", f"is {kind!r}"[:80], f"give one of {', '.join(DELEGATES)}")
        result = await self._plain(str(kind), engine, request, caller)
        inner = result.fields
        spent = self._tools.spent(request.session_id)
        fields = DelegatedFields(
            reward=inner.reward,
            delegated_response=inner.answer(request),
            total_tool_execution_time_seconds=spent.seconds,
            num_tool_calls=spent.calls,
            avg_tool_call_time_seconds=spent.seconds / spent.calls if spent.calls else 0.0,
            tool_timeout_count=spent.timeouts,
            tool_request_timeout_count=spent.request_timeouts,
            verdict=inner.verdict,
            mask_sample=inner.mask_sample,
            failure_kind=inner.failure_kind,
            failure_reason=inner.failure_reason,
        )
        return replace(result, fields=fields)

    def _failure(self, verdict: Verdict) -> Mapping[str, object]:
        """No rung decided: what stopped short is named. The row's own fault masks the sample; the answer's does so only
        if the setting says so, since an answer could bring it about on purpose."""
        decided = bool(verdict.decided_by)
        masked = not decided and (verdict.failure_reason.startswith("gold_") or self._mask_undecided)
        return {
            "mask_sample": masked,
            "failure_kind": None if decided else f"{self.name}:{verdict.failure_reason}",
            "failure_reason": verdict.failure_reason or None,
        }

    def aggregate(self, verify_responses: list[Document]) -> Document:
        return aggregate_metrics(
            verify_responses,
            answer_key="extracted_answer",
            subset_key="subset_for_metrics",
            score=_scores,
            key_names=None,
        )


def _scores(row: Document) -> Mapping[str, float]:
    """Ours, and math_with_judge's two."""
    scores = dict(accuracy(row))
    library, reward = row.get("library_reward"), row.get("reward")
    if isinstance(library, int | float):
        scores["symbolic_accuracy"] = float(library)
    if row.get("judge_evaluations") is not None and isinstance(reward, int | float):
        scores["judge_accuracy"] = float(reward)
    return scores


def _lifted(body: Document) -> Document:
    """The body with what its `verifier_metadata` says of the task: NeMo Evaluator keeps nothing else of a row."""
    metadata = body.get("verifier_metadata")
    if not isinstance(metadata, dict):
        return body
    return {**{name: metadata[name] for name in _ROW if metadata.get(name) is not None}, **body}


def _wire_of(body: Document) -> str:
    if body.get("verifier_type") is not None:
        return "ns_tools"
    return WITH_CODE if body.get("expected_result") is not None else WITH_JUDGE


def _judgeable(text: str, options: MathOptions) -> str:
    """The text's end, for a model to find the answer in; empty where only a box counts or the thinking never ended."""
    visible = None if options.boxed_only else after_thinking(text, options)
    return (visible or "").strip()[-MAX_ANSWER_CHARS:]


def _judged(verdict: Verdict, equal: bool) -> Verdict:
    """The ladder's last rung has the word."""
    reason = "" if equal else "wrong_answer"
    return replace(verdict, reward=float(equal), failure_reason=reason, decided_by="judge")


def _document(evaluation: Evaluation) -> Document:
    return {"responses_create_params": evaluation.responses_create_params, "response": evaluation.response}


def _tool_text(body: Document) -> str:
    """The latest output of a tool with a box in it: math_with_code's second place to look."""
    kept = body.get(_TOOL_TEXT)
    if isinstance(kept, str):
        return kept
    response = body.get("response")
    items = response.get("output") if isinstance(response, dict) else None
    for item in reversed(items if isinstance(items, list) else []):
        if isinstance(item, dict) and item.get("type") == "function_call_output":
            text = MathTools.printed(item.get("output"))
            if last_box(text) is not None:
                return text[-MAX_TOOL_TEXT:]
    return ""
