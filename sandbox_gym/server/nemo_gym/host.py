"""The host of NeMo Gym's resources-server protocol: its routes, over any resources server and any engine.

Owns what each route answers; settings, auth and cookies are app.py's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple, cast

import anyio
from fastapi import FastAPI, Request, Response

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.journal import Key
from sandbox_gym.observe.metrics import CONTENT_TYPE
from sandbox_gym.observe.traces import note
from sandbox_gym.plans.runner import Caller
from sandbox_gym.server.access.accounts import owned
from sandbox_gym.server.access.auth import key_tenant
from sandbox_gym.server.nemo_evaluator import EvaluatorProtocol
from sandbox_gym.server.nemo_gym.batch import BatchReply
from sandbox_gym.server.nemo_gym.failed_sessions import SEEDED, FailedSessions
from sandbox_gym.server.nemo_gym.gym_protocol import GymProtocol, ShortProtocol
from sandbox_gym.server.nemo_gym.health import Health
from sandbox_gym.server.nemo_gym.routes import TOKEN, host_operations, tool_operation
from sandbox_gym.server.nemo_gym.seeds import Seeds
from sandbox_gym.server.nemo_gym.verify_recorder import Answered, VerifyRecorder
from sandbox_gym.server.openapi import Operation, make_document
from sandbox_gym.server.openapi.docs import Documentation, asset, docs_operations
from sandbox_gym.server.protocol.dataset import Dataset
from sandbox_gym.server.protocol.exchange import (
    error_reply,
    fault_of_ours,
    plain,
    read_document,
    reply,
    while_connected,
)
from sandbox_gym.server.protocol.resources import ResourcesServer, Tool, ToolAnswer, ToolCall, no_verdict
from sandbox_gym.server.protocol.shapes import (
    CALLER_HEADERS,
    REPLAYED_HEADER,
    VERDICT_ID_HEADER,
    Aggregate,
    CallerHeaders,
    Close,
    HealthDocument,
    Seed,
)
from sandbox_gym.server.protocol.single_flight import KEY_HEADER, Once
from sandbox_gym.server.protocol.wire import Document, VerifyRequest, check_shape
from sandbox_gym.server.registry import misdirected
from sandbox_gym.server.tools.session_client import check_root

SESSION_ID_KEY = "session_id"

Handler = Callable[[Request], Awaitable[Response]]
_ABOUT = "Verifies what models answered, in sandboxes. NeMo Gym's protocol, tools for agents, and what is counted."


class _Serving(NamedTuple):
    """What the application has while it runs."""

    engine: Engine
    health: Health
    recorder: VerifyRecorder
    once: Once[Answered]


class GymHost:
    """One resources server's routes."""

    def __init__(
        self, resources: ResourcesServer, dataset: Dataset | None = None, *, rows_without_verdict: bool = False
    ) -> None:
        self._resources = resources
        self._gym = GymProtocol(rows_without_verdict=rows_without_verdict)
        self._short = ShortProtocol(rows_without_verdict=rows_without_verdict)
        self._evaluator = EvaluatorProtocol(resources, dataset)
        # an agent that could ask for any row's answer, or try answers to it, would: it is not for agents then
        self._tools = resources.tools if dataset is None else {}
        self._seeds = Seeds()
        self._failed = FailedSessions()
        self._serving: _Serving | None = None
        self._grant: Callable[[str, str], Document] | None = None

    @contextmanager
    def attached(self, engine: Engine, recorder: VerifyRecorder, once: Once[Answered]) -> Iterator[None]:
        """Requests are answered, with this engine, while the body runs. Verdicts go on record by `recorder`, and those
        with a key meet in `once`."""
        self._serving = _Serving(engine, Health(engine), recorder, once)
        engine.metrics.watch_all("journal", recorder.stats)
        try:
            yield
        finally:
            self._serving = None

    def grant_with(self, grant: Callable[[str, str], Document]) -> None:
        """What a seed answers beyond its id: how this session's tools are reached in other ways, by session id and
        tenant."""
        self._grant = grant

    def routes(self) -> Sequence[tuple[Operation, Handler]]:
        """Every route, as it is declared, with what answers it; those of the document last."""
        declared = host_operations(self._resources)
        handlers = (
            *(self.liveness, self.health, self.reverify_mode, self.metrics, self.dataset_size, self.seed_session),
            *(self.verify, self.verify_batch, self.aggregate_metrics, self.close_session),
        )
        own = [(declared[handler.__name__], handler) for handler in handlers]
        tools = [(tool_operation(name, tool), partial(self.call_tool, tool)) for name, tool in self._tools.items()]
        return [*own, *tools]

    def add_routes(self, app: FastAPI, more: Sequence[Operation] = ()) -> None:
        """The routes, and the document of them and of `more`, which others answer."""
        routes = list(self.routes())
        listed = docs_operations(TOKEN)
        operations = [*(operation for operation, _ in routes), *more, *listed]
        title = f"sandbox_gym {self._resources.name}"
        shown = Documentation(lambda: make_document(title, _ABOUT, operations), title)

        async def document(request: Request) -> Response:
            return shown.document()

        async def page(request: Request) -> Response:
            return shown.page()

        async def file(request: Request) -> Response:
            return asset(str(request.path_params["name"]))

        for operation, handler in [*routes, *zip(listed, (document, page, file), strict=True)]:
            app.add_api_route(
                operation.path, _answering(handler), methods=[operation.method], name=operation.operation_id,
                response_model=None,
            )  # fmt: skip

    async def liveness(self, request: Request) -> Response:
        """200 while the server serves; 503 when it is stopping, of itself or not."""
        self._running()
        return reply({"status": "ok"})

    async def reverify_mode(self, request: Request) -> Response:
        """A verify needs nothing but its body, so an answer can be verified again at any time."""
        return reply({"reverify_mode": "stateless"})

    async def health(self, request: Request) -> Response:
        """200 while verdicts can be had, 503 when not."""
        engine, health, recorder, _ = self._running()
        finding = await health.check()
        document: HealthDocument = {
            "status": "ok" if finding.up else "down",
            "provider": engine.provider_name,
            "isolation": health.isolation,
            "reason": finding.reason,
            "sessions": engine.sessions.stats_dict() if engine.sessions is not None else {},
            "stats": dict(engine.stats()),
            "journal": recorder.stats(),
        }
        if nodes := engine.runner.nodes():
            document["nodes"] = nodes
        if (held := self._evaluator.health()) is not None:
            document["benchmark"], document["protocol"] = held["benchmark"], held["protocol"]
            document["dataset_size"] = held["dataset_size"]
        return reply(document, 200) if finding.up else reply(document, 503, {"Retry-After": "5"})

    async def dataset_size(self, request: Request) -> Response:
        """How many rows an evaluator may ask for."""
        return reply({"size": self._evaluator.size()})

    async def metrics(self, request: Request) -> Response:
        """Everything counted, for Prometheus."""
        return Response(self._running().engine.metrics.text(), media_type=CONTENT_TYPE)

    async def seed_session(self, request: Request) -> Response:
        """NeMo Gym's two bodies, the legacy one (empty, or the row itself) and the one with an id; an evaluator's."""
        body = await read_document(request, empty_is_object=True)
        if self._evaluator.wants_seed(body):
            return reply(await self._evaluator.seed(body))
        cookie_id = str(request.session[SESSION_ID_KEY])
        engine = self._running().engine
        begun: Document = {}
        row, chosen_id, root = body, None, False
        if "resources_session_id" in body:
            seed = check_shape(Seed, body)
            if root := seed.root:
                check_root(engine)
            begun["resources_session_id"] = seed.resources_session_id
            row, chosen_id = seed.task_data or {}, owned(key_tenant(request.scope), seed.resources_session_id)
        self._seeds.seed(cookie_id, self._resources.public_tests(row), session_id=chosen_id)
        self._failed.forget(request, cookie_id)
        _start_anew(engine, cookie_id)
        if self._grant is not None:
            begun |= self._grant(cookie_id, key_tenant(request.scope))
        try:
            await while_connected(request, lambda: self._resources.seed(engine, cookie_id, row))
            if root and engine.sessions is not None:
                engine.sessions.grant_root(cookie_id)
        except Exception as error:
            fault = fault_of_ours(error)
            if fault is None:
                raise
            self._failed.seed_failed(request, cookie_id, fault, engine.metrics)
            if not self._gym.wants_row(request):
                raise fault  # noqa: B904 - it is the error itself, or tells of it
            return self._gym.failed_seed_reply(self._resources.name, fault, begun, by_id=chosen_id is not None)
        if row:
            self._failed.seeded(request)
        return reply(begun)

    async def close_session(self, request: Request) -> Response:
        closing = check_shape(Close, await read_document(request))
        cookie_id = self._seeds.close(owned(key_tenant(request.scope), closing.resources_session_id))
        engine = self._running().engine
        if cookie_id is not None and engine.sessions is not None:
            await engine.sessions.close(cookie_id)
        return reply({"resources_session_id": closing.resources_session_id})

    async def verify(self, request: Request) -> Response:
        """A verdict; or 503 (200 for a client that asks so) with a masked body, never a plain reward 0."""
        body = await read_document(request)
        own = self._gym if isinstance(body.get("response"), dict) else self._short
        protocol = self._evaluator if self._evaluator.wants_verify(body) else own
        wanted = self._wanted(request, await protocol.verify_body(body))
        serving = self._running()
        engine, _, recorder, once = serving
        key, caller = _key(serving, request, wanted), _caller(request)
        try:
            answered = await while_connected(request, lambda: recorder.answer(engine, wanted, key, once, caller))
        except RequestError as error:
            remedy = error.remedy + misdirected(body, self._resources.kind)
            raise RequestError(error.field, error.problem, remedy) from None
        except Exception as error:
            fault = fault_of_ours(error)
            if fault is None:
                raise
            engine.metrics.count_none(fault)
            return protocol.no_verdict_reply(request, wanted, no_verdict(self._resources.name, fault), fault)
        self._end_rollout(serving, request, answered)
        headers = {VERDICT_ID_HEADER: answered.request_id, **({REPLAYED_HEADER: "true"} if answered.replayed else {})}
        return protocol.verdict_reply(body, answered.fields, headers)

    def _wanted(self, request: Request, body: Document) -> VerifyRequest:
        """What is to be verified, with what is known of its session. Raises RequestError."""
        cookie_id = str(request.session[SESSION_ID_KEY])
        failure, seeded = self._failed.failure(request, cookie_id), request.session.get(SEEDED) is True
        return replace(VerifyRequest.parse(body), session_id=cookie_id, seeded=seeded, session_failure=failure)

    def _end_rollout(self, serving: _Serving, request: Request, answered: Answered) -> None:
        """A verify was answered: its session is over, and the engine is seen to give verdicts."""
        cookie_id = str(request.session[SESSION_ID_KEY])
        self._failed.forget(request, cookie_id)
        note({"replayed": answered.replayed})
        if not answered.replayed:
            serving.health.saw_verdict(answered.fields)
        _start_anew(serving.engine, cookie_id)

    async def verify_batch(self, request: Request) -> Response:
        """Many verifies, a line each, whose answers are sent as they come."""
        return BatchReply(request, self._running().engine.stats().get("slots", 1))

    async def aggregate_metrics(self, request: Request) -> Response:
        body = await read_document(request)
        await anyio.to_thread.run_sync(check_shape, Aggregate, body)
        rows = cast("list[Document]", body["verify_responses"])  # as they came, not as the model reads them
        return reply(await anyio.to_thread.run_sync(self._resources.aggregate, rows))

    async def call_tool(self, tool: Tool, request: Request) -> Response:
        body = await read_document(request, empty_is_object=request.method == "GET")
        cookie_id = str(request.session[SESSION_ID_KEY])
        answer = await while_connected(request, lambda: self.answer_tool(tool, body, cookie_id, request))
        return plain(answer) if isinstance(answer, str) else reply(answer)

    async def answer_tool(self, tool: Tool, arguments: Document, session_id: str, request: Request) -> ToolAnswer:
        """One call in a session, whichever way it came. Raises what the tool raises."""
        engine = self._running().engine
        failure = self._failed.seed_failure(request, session_id)
        if failure is not None:
            raise failure
        call = ToolCall(arguments, self._seeds.public_tests(session_id), session_id, _caller(request))
        try:
            answer = await tool(engine, call)
        except Exception as error:
            self._failed.call_failed(session_id, error)
            raise
        self._failed.call_answered(session_id)
        return answer

    def _running(self) -> _Serving:
        if self._serving is None:
            raise Unavailable("the server is starting or stopping")
        return self._serving


def _key(serving: _Serving, request: Request, wanted: VerifyRequest) -> Key | None:
    """What makes a request the same as another. Raises RequestError."""
    headers = request.headers.getlist(KEY_HEADER)
    return serving.recorder.key(headers, wanted, serving.engine.provider_name, key_tenant(request.scope))


def _start_anew(engine: Engine, cookie_id: str) -> None:
    """A seed begins a rollout and a verify ends one: either way the sandbox of an earlier one is not to be seen."""
    if engine.sessions is not None:
        engine.sessions.discard(cookie_id)


def _caller(request: Request) -> Caller:
    """Whose share of the sandboxes a request takes, and how long its answer is wanted. Raises RequestError."""
    given = {name: request.headers[name] for name in CALLER_HEADERS if name in request.headers}
    wanted = check_shape(CallerHeaders, dict(given))
    return Caller(key_tenant(request.scope) or wanted.tenant, wanted.deadline_s, wanted.run, wanted.step)


def _answering(handler: Handler) -> Handler:
    """The handler with every error as an answer."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            return error_reply(error)

    return answer
