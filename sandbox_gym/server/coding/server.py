"""The coding resources server: from a request's body to a task, through the engine, to the response's fields.

A composition point: the server and the command verify through the same lines here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from sandbox_gym import judging
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, TestStatus
from sandbox_gym.engine import Engine, Verification
from sandbox_gym.errors import wrong
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.server.coding.sandbox_fusion import FusionRan, FusionRunCode, FusionTools, is_fusion
from sandbox_gym.server.coding.sandbox_fusion_datasets import FusionDatasets
from sandbox_gym.server.coding.sandbox_fusion_jupyter import FusionJupyter
from sandbox_gym.server.coding.sandbox_fusion_submit import FusionSubmit
from sandbox_gym.server.coding.tools import CodeRan, CodingTools, RunCode
from sandbox_gym.server.metrics.aggregate import aggregate_metrics
from sandbox_gym.server.openapi import examples
from sandbox_gym.server.protocol.resources import Tool, ToolCall, VerifyResult
from sandbox_gym.server.protocol.signs import costly_signs
from sandbox_gym.server.protocol.verdicts import verdict_document
from sandbox_gym.server.protocol.wire import CodeFields, Document, VerifyFields, VerifyRequest
from sandbox_gym.server.tools import plain_sandboxes
from sandbox_gym.server.tools.files import FILE_TOOLS
from sandbox_gym.server.tools.session_tools import bash, python
from sandbox_gym.server.tools.shapes import ToolShape, shaped
from sandbox_gym.verifiers.coding import (
    IN_PROCESS,
    CodingTask,
    CodingVerifier,
    extract_code,
    has_reasoning_format_violation,
    parse_task,
    result_codes,
    result_metadata,
    task_fields,
)

_RUN_CODE: Final = ToolShape(RunCode | FusionRunCode, CodeRan | FusionRan)


class CodingResources:
    """NeMo Gym's `code_gen` on the wire, sandboxes behind it."""

    def __init__(self, settings: Settings, *, name: str = "coding") -> None:
        self.name = name
        self.kind = "coding"
        limits = settings.limits()
        self._penalty, self._in_process = settings.reasoning_format_penalty, settings.in_process
        self._parse = partial(
            parse_task,
            limits=limits,
            early_stop=settings.early_stop,
            fail_on_tamper=costly_signs(settings.fail_on_tamper),
            in_process=settings.in_process,
            processes=settings.processes,
            comparison=settings.comparison,
            secret=secrets.token_hex(16),
        )
        self._tools, self._fusion, self._jupyter = CodingTools(limits), FusionTools(limits), FusionJupyter(limits)
        self._datasets = FusionDatasets(settings.sandbox_fusion_datasets)
        self._submit = FusionSubmit(limits, self._datasets, self._fusion)

    @property
    def tools(self) -> Mapping[str, Tool]:
        return {
            "run_code": self._run_code,
            "run_tests": self._tools.run_tests,
            "bash": bash,
            "python": python,
            **FILE_TOOLS,
            "sandbox/create": plain_sandboxes.create,
            "sandbox/status": plain_sandboxes.status,
            "sandbox/exec": plain_sandboxes.run,
            "sandbox/read": plain_sandboxes.read,
            "sandbox/write": plain_sandboxes.write,
            "sandbox/close": plain_sandboxes.close,
            **self._fusions,
            "sandbox_fusion/run_code": self._fusion.run_code,
            **{f"sandbox_fusion/{name}": tool for name, tool in self._fusions.items()},
        }

    @property
    def _fusions(self) -> dict[str, Tool]:
        """SandboxFusion's routes that have no namesake here."""
        rows = self._datasets
        return {
            "v1/ping": self._fusion.ping,
            "submit": self._submit.submit,
            "run_jupyter": self._jupyter.run_jupyter,
            "get_prompts": rows.get_prompts,
            "get_prompt_by_id": rows.get_prompt_by_id,
            "list_ids": rows.list_ids,
            "list_datasets": rows.list_datasets,
            "get_metrics": rows.get_metrics,
            "get_metrics_function": rows.get_metrics_function,
        }

    async def _run_code(self, engine: Engine, call: ToolCall) -> FusionRan | CodeRan:
        """Run a program {language, code, stdin?}; as SandboxFusion does where a field says so."""
        if is_fusion(call.arguments):
            return await self._fusion.run_code(engine, call)
        return await self._tools.run_code(engine, call)

    shaped(_run_code, _RUN_CODE)

    @property
    def verify_fields(self) -> Sequence[type[VerifyFields]]:
        return (CodeFields,)

    @property
    def verify_examples(self) -> Mapping[str, Document]:
        return examples.CODING

    def row(self, body: Document) -> Document:
        """The tests and how they count."""
        found = task_fields(body)
        return found if isinstance(found, dict) else {}

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        """A session begins empty."""

    def public_tests(self, row: Document) -> Document | None:
        """`public_tests` of a row or its `verifier_metadata`; the hidden `unit_tests` are never looked at."""
        metadata = row.get("verifier_metadata")
        holders = (row, metadata) if isinstance(metadata, dict) else (row,)
        for holder in holders:
            tests = holder.get("public_tests")
            if isinstance(tests, dict):
                return tests
            if tests is not None:
                raise wrong("public_tests", tests, "send {inputs, outputs}")
        return None

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
        row, task = await self._task(request.body)
        verification = await engine.verify(CodingVerifier(), task, Answer(request.output_text), caller=caller)
        code = await judging.asked(partial(extract_code, request.output_text, task.language, task.tests.names))
        return VerifyResult(self._fields(request, task, verification, code), verification.judgements, row)

    async def _task(self, body: Document) -> tuple[Document, CodingTask]:
        """The row of a request, and what it asks for. Raises RequestError."""
        row = await judging.asked(partial(self.row, body))
        listed = row.get("test_list")
        judging.weigh_tests(row.get("test"), *(listed if isinstance(listed, list) else ()))
        return row, await judging.asked(partial(self._parse, row))

    def _fields(
        self, request: VerifyRequest, task: CodingTask, verification: Verification, code: str | None
    ) -> CodeFields:
        """What NeMo Gym has of a verification."""
        verdict, state = verification.verdict, verification.state
        masked = verdict.failure_reason == TestStatus.CHECKER_FAILED
        masked |= verdict.failure_reason == IN_PROCESS and self._in_process == "mask"
        violation = not masked and has_reasoning_format_violation(request.output_text, request.reasoning_texts)
        penalty = self._penalty if violation else None
        return CodeFields(
            reward=verdict.reward if penalty is None else penalty,
            extracted_model_output=request.output_text or None,
            extracted_model_code=code or None,
            result=None if state is None else list(result_codes(verdict)),
            metadata=None if state is None else dict(result_metadata(task, verdict, state)),
            unit_tests_time_taken=verdict.timings_s.get("run"),
            reasoning_format_violation_rate=float(violation),
            difficulty=task.difficulty,
            verdict=verdict_document(verdict),
            mask_sample=masked,
            failure_kind=f"{self.name}:{verdict.failure_reason}" if masked else None,
            failure_reason=(verdict.failure_reason or None) if penalty is None else "reasoning_format_violation",
        )

    def aggregate(self, verify_responses: list[Document]) -> Document:
        return aggregate_metrics(verify_responses, answer_key="extracted_model_code", subset_key="difficulty")
