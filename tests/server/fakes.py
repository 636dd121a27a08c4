"""The real engine over the shipped fake boxes, and a resources server that needs no verifier."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from fastapi.testclient import TestClient

from sandbox_gym.contract import Answer, Outcome, Plan, Program, Run, State, StepOutcome, Verdict
from sandbox_gym.engine import Engine, local_engine
from sandbox_gym.errors import RequestError
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.sandbox.fake import Behaviour, FakeProvider, silent
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.server.metrics.aggregate import aggregate_metrics
from sandbox_gym.server.protocol.resources import Tool, ToolCall, VerifyResult
from sandbox_gym.server.protocol.verdicts import verdict_document
from sandbox_gym.server.protocol.wire import CodeFields, Document, VerifyRequest

JSON = {"Content-Type": "application/json"}


class EchoVerifier:
    """Runs the answer; right when the program exits with 0."""

    def plan(self, task: str, answer: Answer) -> Plan:
        return Plan((Run("echo", Program(mode="fork", files={"main.py": answer.text.encode("utf-8", "replace")})),))

    def passed(self, task: str, index: int, outcome: StepOutcome) -> bool:
        return isinstance(outcome, Outcome) and outcome.exit_code == 0

    def judge(self, task: str, answer: Answer, plan: Plan, state: State) -> Verdict:
        outcome = state.outcomes[0]
        right = outcome is not None and self.passed(task, 0, outcome)
        return Verdict(float(right), failure_reason="" if right else "wrong", provider=state.provider)


@dataclass
class EchoResources:
    """The smallest resources server. `before` runs inside verify, before the engine is asked."""

    name: str = "echo"
    kind: str = "echo"
    before: Callable[[VerifyRequest], None] | None = None
    cancelled: anyio.Event | None = None
    hang: bool = False
    tool_calls: list[ToolCall] = field(default_factory=list)

    @property
    def tools(self) -> Mapping[str, Tool]:
        async def note(engine: Engine, call: ToolCall) -> Document:
            self.tool_calls.append(call)
            return {"seen": call.public_tests}

        return {"note": note}

    def row(self, body: Document) -> Document:
        metadata = body.get("verifier_metadata")
        return metadata if isinstance(metadata, dict) else {}

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        """A session begins empty."""

    def public_tests(self, row: Document) -> Document | None:
        tests = row.get("public_tests")
        return tests if isinstance(tests, dict) else None

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
        if self.before is not None:
            self.before(request)
        if self.hang:
            try:
                await anyio.sleep_forever()
            finally:
                if self.cancelled is not None:
                    self.cancelled.set()
        if request.verifier_metadata.get("bad"):
            raise RequestError("verifier_metadata.bad", "is there", "leave it out")
        answer = Answer(request.output_text)
        verification = await engine.verify(EchoVerifier(), "", answer, caller=caller)
        verdict = verification.verdict
        fields = CodeFields(
            reward=verdict.reward,
            extracted_model_output=request.output_text,
            verdict=verdict_document(verdict),
            failure_reason=verdict.failure_reason or None,
        )
        return VerifyResult(fields, verification.judgements)

    def aggregate(self, verify_responses: list[Document]) -> Document:
        return aggregate_metrics(verify_responses, answer_key="extracted_model_code", subset_key="difficulty")


@asynccontextmanager
async def fake_engine(provider: FakeProvider, *, deadline_s: float = 5.0) -> AsyncIterator[Engine]:
    pool = Pool(provider, boxes=4, box_max_tasks=8, queue_size=100)
    try:
        yield local_engine(pool, attempts=2, deadline_s=deadline_s)
    finally:
        await pool.aclose()


def exits_as_told(run: Run) -> Behaviour:
    """A program that says `exit N` exits with N."""
    words = run.program.files["main.py"].split()
    return Behaviour(exit_code=int(words[1])) if words[:1] == [b"exit"] else silent(run)


@dataclass
class Server:
    """A running application and the parts behind it."""

    client: TestClient
    provider: FakeProvider
    resources: EchoResources


def verify_body(text: str = "print(1)", **more: object) -> Document:
    """A verify request whose response says `text`."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}
    response = {
        "id": "r",
        "created_at": 0,
        "model": "m",
        "object": "response",
        "output": [message],
        "extra": [1],
    }
    return {"responses_create_params": {"input": [], "extra": 1}, "response": response, **more}
