"""The SWE resources server: instances for agents, patches judged in fresh boxes, NeMo Gym's swebench fields.

A composition point: the server and the command verify through the same lines here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import anyio
from pydantic import BaseModel

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, SnapshotRef, State
from sandbox_gym.engine import Engine
from sandbox_gym.errors import BoxLost, DeadlineExceeded, ProviderDown, RequestError, SnapshotGone, wrong
from sandbox_gym.limits import MIB
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.images.store import PullsImages
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.server.metrics.aggregate import aggregate_metrics
from sandbox_gym.server.openapi import examples
from sandbox_gym.server.protocol.resources import Tool, ToolAnswer, ToolCall, VerifyResult
from sandbox_gym.server.protocol.signs import costly_signs
from sandbox_gym.server.protocol.verdicts import verdict_document
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest
from sandbox_gym.server.swe.arguments import ARGUMENTS
from sandbox_gym.server.swe.left_work import LeftWork, left_work
from sandbox_gym.server.swe.tools import SweTools
from sandbox_gym.server.tools.session_tools import python
from sandbox_gym.server.tools.shapes import shape_of, shaped
from sandbox_gym.swe.building import Instance
from sandbox_gym.swe.instances import FOLDER, BuildsInstances, Instances
from sandbox_gym.swe.judging import judge_patch, timed
from sandbox_gym.swe.logs import parser_of, parser_sources
from sandbox_gym.swe.node_instances import BuildsOnNodes, NodeInstances
from sandbox_gym.swe.recipes import REPOSITORY
from sandbox_gym.swe.references import References
from sandbox_gym.verifiers.swe import (
    COSTLY,
    OWN_FIX_FAILS,
    Checkout,
    SweJob,
    SweLimits,
    SweTask,
    extract_patch,
    log_command,
    normalised,
    parse_task,
    tests_outcome,
)

SHOWN_OUTPUT: Final = 20_000
RETRY_S: Final = 30
"""After which a build that took too long for a verify is asked after again."""
_NOT_THE_TASK: Final = frozenset({"response", "responses_create_params", "agent_ref", "answer", "model_patch"})
_HIDDEN: Final = re.compile(r"\s(?:\S*::\S+|\S+\.py)(?=\s|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweFields(VerifyFields):
    """NeMo Gym's swebench, and the report in swebench's form."""

    instance_id: str
    evaluation_completed: bool = False
    resolved: bool = False
    model_patch: str | None = None
    tests_status: dict[str, dict[str, list[str]]] | None = None
    fail_to_pass_score: float = 0.0
    pass_to_pass_score: float = 0.0
    flaky_tests: list[str] | None = None
    """PASS_TO_PASS that failed, and passed when run again."""
    test_output: str | None = None
    """The end of what the tests printed: for people, no part of the verdict."""
    patch_verification_time_taken: float | None = None


class NoPatch(Exception):
    """The answer has no patch; the verdict's reason."""


class SweResources:
    """Repositories at a base commit; what a patch is worth."""

    def __init__(self, settings: Settings, *, name: str = "swe") -> None:
        self.name = name
        self.kind = "swe"
        self._disk_bytes = settings.swe.disk_mb * MIB
        self._deadline_s, self._cpus = settings.deadline_s, settings.cpus_per_box
        self._limits = SweLimits(
            test_time_s=settings.swe.test_timeout_s,
            run_time_s=settings.swe.run_timeout_s,
            memory_bytes=settings.swe.memory_limit_mb * MIB,
        )
        self._restore_config = settings.swe.restore_test_config
        self._fail_on_tamper = costly_signs(settings.fail_on_tamper) | COSTLY
        self._instances: tuple[object, Instances] | None = None
        self._references: tuple[object, References] | None = None
        self._tools: dict[str, SweTools] = {}

    # -- sessions

    @property
    def tools(self) -> Mapping[str, Tool]:
        names = tuple(SweTools(REPOSITORY, "HEAD").tools)
        return {**{name: self._tool(name) for name in names}, "python": python}

    @property
    def tool_arguments(self) -> Mapping[str, type[BaseModel]]:
        """What models are shown of the tools, over MCP."""
        return ARGUMENTS

    def _tool(self, name: str) -> Tool:
        async def call_it(engine: Engine, call: ToolCall) -> ToolAnswer:
            return await self._tools_of(engine, call.session_id).tools[name](engine, call)

        like = SweTools(REPOSITORY, "HEAD").tools[name]
        call_it.__doc__ = like.__doc__
        return shaped(call_it, shape_of(like))

    def _tools_of(self, engine: Engine, session_id: str) -> SweTools:
        """The session's: of its seed, or, after a restart, of the instance that it began from."""
        kept = self._tools.get(session_id)
        if kept is not None:
            return kept
        instance = self._instance_of(engine, session_id)
        if instance is None:
            raise RequestError(
                "session", "has no repository", "POST the row to /seed_session first, with the same cookie"
            )
        return self._tools.setdefault(session_id, SweTools(instance.workdir, instance.commit))

    def _instance_of(self, engine: Engine, session_id: str) -> Instance | None:
        base = engine.sessions.base_of(session_id) if engine.sessions is not None else None
        return self.instances(engine).of_snapshot(base) if base is not None else None

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        """A session at the row's base commit: one commit, no network. Raises RequestError and Unavailable."""
        if not row:
            return
        task = self.task(row)
        instance = await self.instances(engine).ensure(task)
        assert engine.sessions is not None
        engine.sessions.begin(session_id, instance.snapshot_id)
        self._tools[session_id] = SweTools(instance.workdir, instance.commit, _visible_tests(task))
        while len(self._tools) > 100_000:
            del self._tools[next(iter(self._tools))]

    def instances(self, engine: Engine) -> BuildsInstances:
        """What is built here. Raises ProviderDown where nothing can be."""
        if engine.sessions is None:
            raise ProviderDown(f"provider {engine.provider_name} holds no repositories; use local, docker or e2b")
        if isinstance(engine.sessions, BuildsOnNodes):
            return NodeInstances(engine.sessions)
        if self._instances is None or self._instances[0] is not engine.sessions:
            assert isinstance(engine.sessions, Sessions)
            made = Instances(engine.sessions, disk_bytes=self._disk_bytes)
            engine.metrics.watch_all("instances", made.stats_dict)
            if isinstance(engine.sessions.provider, PullsImages):
                engine.metrics.watch_all("images", engine.sessions.provider.images.stats_dict)
            self._instances = (engine.sessions, made)
        return self._instances[1]

    def references(self, engine: Engine) -> References:
        """What the rows' own fixes did; kept beside the instances, where those are this process's own."""
        sessions = engine.sessions
        assert sessions is not None
        if self._references is None or self._references[0] is not sessions:
            folder = sessions.folder.parent / FOLDER / "references" if isinstance(sessions, Sessions) else None
            made = References(folder, sessions.background)
            engine.metrics.watch_all("references", made.stats_dict)
            self._references = (sessions, made)
        return self._references[1]

    def affinity_of(self, body: Document) -> str | None:
        """Where there are several workers, one builds an instance and holds its sessions."""
        data = body.get("task_data")
        row = data if isinstance(data, dict) else body
        inner = row.get("instance")
        found = row.get("instance_id") or (inner.get("instance_id") if isinstance(inner, dict) else None)
        return str(found) if found else None

    # -- verdicts

    @property
    def verify_fields(self) -> Sequence[type[VerifyFields]]:
        return (SweFields,)

    @property
    def verify_examples(self) -> Mapping[str, Document]:
        return examples.SWE

    def row(self, body: Document) -> Document:
        """Everything but the answer; of a request, its metadata, where some rows have the task."""
        row = {name: value for name, value in body.items() if name not in _NOT_THE_TASK}
        request = body.get("responses_create_params")
        metadata = request.get("metadata") if isinstance(request, Mapping) else None
        return {**row, "responses_create_params": {"metadata": metadata}} if metadata else row

    def public_tests(self, row: Document) -> Document | None:
        """An agent runs the repository's own tests."""
        return None

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
        task = self.task(request.body)
        try:
            patch = await self._patch(engine, request)
        except NoPatch as error:
            return VerifyResult(SweFields(reward=0.0, instance_id=task.instance_id, failure_reason=str(error)))
        until = time.monotonic() + min(caller.deadline_s or self._deadline_s, self._deadline_s)
        try:
            return await self._judged(engine, task, Answer(patch), caller, until)
        except SnapshotGone:  # a node was lost with its instance: another builds it, in what is left of the time
            return await self._judged(engine, task, Answer(patch), caller, until)

    def task(self, row: Document) -> SweTask:
        """Raises RequestError, and ToolchainMissing for a row whose log nothing here can read."""
        task = parse_task(row, limits=self._limits)
        if task.runner == "log":
            log_command(task)
            parser_of(task)
        return task

    async def job(self, engine: Engine, task: SweTask) -> SweJob:
        """A task and its repository, which is built unless it is there. Raises RequestError and Unavailable."""
        parser = parser_of(task) if task.runner == "log" else ""
        job = SweJob(
            task,
            await self._checkout(engine, task),
            restore_config=self._restore_config,
            fail_on_tamper=self._fail_on_tamper,
            log_parser=parser,
            log_parser_sources=parser_sources(parser),
        )
        if engine.sessions is None:  # judged from its record, which says what the reference was
            return job
        return replace(job, reference=await self.references(engine).ensure(engine, job))

    async def _judged(
        self, engine: Engine, task: SweTask, answer: Answer, caller: Caller, until: float
    ) -> VerifyResult:
        """Within what is left of the time until `until` (monotonic). What is built meanwhile goes on being built."""
        job = None
        with anyio.move_on_after(until - time.monotonic()):
            job = await self.job(engine, task)
        left_s, whole_s = until - time.monotonic(), min(caller.deadline_s or self._deadline_s, self._deadline_s)
        if job is None or left_s <= 0:
            late = DeadlineExceeded(f"{task.instance_id} was not built in time; its build goes on for the next request")
            late.retry_after_s = RETRY_S
            raise late
        judged = await judge_patch(engine, timed(job, whole_s), answer, replace(caller, deadline_s=left_s))
        verdict, grade = judged.verdict, judged.grade
        groups = {group.name: group.points / group.of if group.of else 1.0 for group in verdict.groups}
        masked = verdict.failure_reason.startswith(f"{OWN_FIX_FAILS}:")
        fields = SweFields(
            reward=verdict.reward,
            instance_id=task.instance_id,
            evaluation_completed=judged.report is not None,
            resolved=verdict.reward == 1.0,
            model_patch=answer.text,
            tests_status=grade.tests_status() if grade is not None else None,
            fail_to_pass_score=groups.get("FAIL_TO_PASS", 0.0),
            pass_to_pass_score=groups.get("PASS_TO_PASS", 0.0),
            flaky_tests=list(judged.flaky),
            test_output=_tail(judged.state),
            patch_verification_time_taken=judged.run_s,
            verdict=verdict_document(verdict),
            failure_reason=verdict.failure_reason or None,
            mask_sample=masked,
            failure_kind=f"{self.name}:{OWN_FIX_FAILS}" if masked else None,
        )
        return VerifyResult(fields, judged.judgements)

    async def _patch(self, engine: Engine, request: VerifyRequest) -> str:
        """What the row brings, else what the session's box holds, else what the text shows.

        Raises NoPatch where the answer has none, and Unavailable where a session's work can't be had: an empty patch
        would be a verdict on nothing.
        """
        given = request.body.get("model_patch")
        if isinstance(given, str):
            return normalised(given)
        if given is not None:
            raise wrong("model_patch", given, "give a diff as a string")
        if self._instance_of_session(engine, request.session_id):
            return await self._session_patch(engine, request.session_id)
        found = extract_patch(request.output_text)
        if found is None and request.seeded:
            raise BoxLost("the session that the row was seeded in is not held any more; its work is not to be had")
        if found is None:
            raise NoPatch("no_patch")
        return found.text

    def _instance_of_session(self, engine: Engine, session_id: str) -> bool:
        return bool(session_id) and engine.sessions is not None and engine.sessions.base_of(session_id) is not None

    async def _session_patch(self, engine: Engine, session_id: str) -> str:
        tools = self._tools_of(engine, session_id)
        submitted = tools.submissions.take(session_id)
        work = LeftWork(submitted) if submitted is not None else await left_work(engine, tools, session_id, self._cpus)
        self._tools.pop(session_id, None)
        if work.why_none:
            raise NoPatch(f"no_patch: {work.why_none}")
        return work.patch.decode("utf-8", "surrogateescape")

    async def _checkout(self, engine: Engine, task: SweTask) -> Checkout:
        """Where the task's tests run. What is judged from its record needs no box, and no instance."""
        if engine.sessions is None:
            return Checkout("", WORK, REPOSITORY if task.recipe is not None else task.workdir, "", "/usr/bin/python3")
        return checkout_of(await self.instances(engine).ensure(task))

    def aggregate(self, verify_responses: list[Document]) -> Document:
        return aggregate_metrics(verify_responses, answer_key="model_patch", subset_key="subset")


def checkout_of(built: Instance) -> Checkout:
    """What verdicts begin from."""
    source = SnapshotRef(built.tests_snapshot_id or built.snapshot_id)
    return Checkout(source, WORK, built.workdir, built.commit, built.python, built.helper, built.env)


def _visible_tests(task: SweTask) -> str:
    """The row's command without the hidden tests' files: what an agent may run names its own."""
    command = task.test_command or "python -m pytest -q"
    return _HIDDEN.sub("", command) if task.runner == "pytest" else command


def _tail(state: State | None) -> str | None:
    outcome = tests_outcome(state)
    return outcome.stdout[-SHOWN_OUTPUT:].decode("utf-8", "replace") if outcome is not None else None
