"""The host of NeMo Gym's resources-server protocol: its routes, over any resources server and any engine.

Owns what each route answers; settings, auth and cookies are app.py's.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import anyio
from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from sandbox_gym.engine import Caller
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.observe.metrics import CONTENT_TYPE
from sandbox_gym.observe.traces import note
from sandbox_gym.server.accounts import owned
from sandbox_gym.server.auth import TENANT_HEADER, key_tenant
from sandbox_gym.server.dataset import Dataset
from sandbox_gym.server.evaluator import EvaluatorProtocol
from sandbox_gym.server.exchange import error_reply, plain, read_document, reply, unavailable, while_connected
from sandbox_gym.server.health import Health
from sandbox_gym.server.ledger import Answered, Ledger
from sandbox_gym.server.once import KEY_HEADER, Once
from sandbox_gym.server.resources import (
    JudgingEngine,
    ResourcesServer,
    SupportsNodes,
    Tool,
    ToolCall,
    no_verdict,
)
from sandbox_gym.server.seeds import Seeds
from sandbox_gym.server.wire import Document, VerifyRequest, check_shape, set_aside

SESSION_ID_KEY = "session_id"
NO_VERDICT_HEADER = "X-Sandbox-Gym-No-Verdict"
DEADLINE_HEADER = "X-Sandbox-Gym-Deadline-S"
VERDICT_ID_HEADER = "X-Sandbox-Gym-Verdict-Id"
REPLAYED_HEADER = "X-Sandbox-Gym-Replayed"

Handler = Callable[[Request], Awaitable[Response]]


class _Seed(BaseModel):
    """A later NeMo Gym's ResourcesSeedSessionRequest."""

    model_config = ConfigDict(extra="ignore")

    resources_session_id: str = Field(min_length=1, max_length=512)
    task_data: dict[str, object] | None = None


class _Close(BaseModel):
    """A later NeMo Gym's ResourcesCloseSessionRequest."""

    model_config = ConfigDict(extra="ignore")

    resources_session_id: str = Field(min_length=1, max_length=512)


class GymHost:
    """One resources server's routes. `engine` and `once` are set while the application runs."""

    def __init__(
        self, resources: ResourcesServer, dataset: Dataset | None = None, *, rows_without_verdict: bool = False
    ) -> None:
        self._resources = resources
        self._rows_without_verdict = rows_without_verdict
        self._evaluator = EvaluatorProtocol(resources, dataset)
        # an agent that could ask for any row's answer, or try answers to it, would: it is not for agents then
        self._tools = resources.tools if dataset is None else {}
        self._seeds = Seeds()
        self._records: tuple[Ledger, Once[Answered]] | None = None
        self._engine: JudgingEngine | None = None
        self._health: Health | None = None
        self._grant: Callable[[str, str], Document] | None = None

    def attach(self, engine: JudgingEngine | None) -> None:
        """The engine at start, None at the end."""
        self._engine = engine
        self._health = None if engine is None else Health(engine)
        if engine is not None and self._records is not None:
            engine.metrics.watch_all("journal", self._records[0].stats)

    def keep_records(self, ledger: Ledger, once: Once[Answered]) -> None:
        """Where verdicts go on record, and where those with a key meet; before the first request."""
        self._records = (ledger, once)

    def grant_with(self, grant: Callable[[str, str], Document]) -> None:
        """What a seed answers beyond its id: how this session's tools are reached in other ways, by session id and
        tenant."""
        self._grant = grant

    def add_routes(self, app: FastAPI) -> None:
        posts: dict[str, Handler] = {
            "/seed_session": self.seed_session,
            "/verify": self.verify,
            "/aggregate_metrics": self.aggregate_metrics,
            "/close_session": self.close_session,
        }
        posts.update({f"/{name}": partial(self.call_tool, tool) for name, tool in self._tools.items()})
        gets: dict[str, Handler] = {
            "/": self.liveness,
            "/health": self.health,
            "/reverify_mode": self.reverify_mode,
            "/metrics": self.metrics,
            "/dataset_size": self.dataset_size,
        }
        for method, routes in (("POST", posts), ("GET", gets)):
            for path, handler in routes.items():
                app.add_api_route(
                    path, _answering(handler), methods=[method], name=path.strip("/") or "root",
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
        engine, health = self._running()
        finding = await health.check()
        document: dict[str, object] = {
            "status": "ok" if finding.up else "down",
            "provider": engine.provider_name,
            "isolation": health.isolation,
            "reason": finding.reason,
            "sessions": engine.sessions.stats_dict() if engine.sessions is not None else {},
            "stats": dict(engine.stats()),
            **({"nodes": engine.nodes()} if isinstance(engine, SupportsNodes) else {}),
            "journal": self._recording()[0].stats(),
            **self._evaluator.health(),
        }
        return reply(document, 200) if finding.up else reply(document, 503, {"Retry-After": "5"})

    async def dataset_size(self, request: Request) -> Response:
        """How many rows an evaluator may ask for."""
        return reply({"size": self._evaluator.size()})

    async def metrics(self, request: Request) -> Response:
        """Everything counted, for Prometheus."""
        engine, _ = self._running()
        return Response(engine.metrics.text(), media_type=CONTENT_TYPE)

    async def seed_session(self, request: Request) -> Response:
        """NeMo Gym's two bodies, the legacy one (empty, or the row itself) and the one with an id; an evaluator's."""
        body = await read_document(request, empty_is_object=True)
        if self._evaluator.wants_seed(body):
            return reply(await self._evaluator.seed(body))
        cookie_id = str(request.session[SESSION_ID_KEY])
        engine, _ = self._running()
        if "resources_session_id" not in body:
            self._seeds.seed(cookie_id, self._resources.public_tests(body))
            _start_anew(engine, cookie_id)
            await while_connected(request, lambda: self._resources.seed(engine, cookie_id, body))
            return reply(self._granted(request, cookie_id))
        seed = check_shape(_Seed, body)
        tests = self._resources.public_tests(seed.task_data or {})
        self._seeds.seed(cookie_id, tests, session_id=owned(key_tenant(request.scope), seed.resources_session_id))
        _start_anew(engine, cookie_id)
        await while_connected(request, lambda: self._resources.seed(engine, cookie_id, seed.task_data or {}))
        return reply({"resources_session_id": seed.resources_session_id, **self._granted(request, cookie_id)})

    def _granted(self, request: Request, cookie_id: str) -> Document:
        return {} if self._grant is None else self._grant(cookie_id, key_tenant(request.scope))

    async def close_session(self, request: Request) -> Response:
        closing = check_shape(_Close, await read_document(request))
        cookie_id = self._seeds.close(owned(key_tenant(request.scope), closing.resources_session_id))
        engine, _ = self._running()
        if cookie_id is not None and engine.sessions is not None:
            await engine.sessions.close(cookie_id)
        return reply({"resources_session_id": closing.resources_session_id})

    async def verify(self, request: Request) -> Response:
        """A verdict; or 503 (200 for a client that asks so) with a masked body, never a plain reward 0."""
        cookie_id = str(request.session[SESSION_ID_KEY])
        body = await read_document(request)
        evaluates = self._evaluator.wants_verify(body)
        parsed = VerifyRequest.parse(await self._evaluator.verify_body(body) if evaluates else body)
        wanted = replace(parsed, session_id=cookie_id)
        engine, health = self._running()
        ledger, once = self._recording()
        tenant = key_tenant(request.scope)
        key = ledger.key(request.headers.getlist(KEY_HEADER), wanted, engine.provider_name, tenant)
        try:
            caller = _caller(request)
            answered = await while_connected(request, lambda: ledger.answer(engine, wanted, key, once, caller))
        except Unavailable as error:
            none = no_verdict(self._resources.name, error)
            if evaluates:  # the row is not its own to see
                return unavailable(error, none.document())
            document = set_aside(none.answer(wanted))
            wants_row = self._rows_without_verdict or _wants_body(request)
            return reply(document) if wants_row else unavailable(error, document)
        note({"replayed": answered.replayed})
        verdict = answered.fields.get("verdict")
        isolation = verdict.get("isolation") if isinstance(verdict, dict) else None
        if isolation and isolation != "none" and not answered.replayed:
            health.saw_verdict(str(isolation))
        _start_anew(engine, cookie_id)
        if evaluates and answered.fields.get("mask_sample"):  # it knows no mask, and would count the reward
            return reply(answered.fields, 503)
        headers = {VERDICT_ID_HEADER: answered.request_id, **({REPLAYED_HEADER: "true"} if answered.replayed else {})}
        fields = answered.fields
        document = self._evaluator.answer(body, fields) if evaluates else set_aside({**body, **fields})
        return reply(document, 200, headers)

    async def aggregate_metrics(self, request: Request) -> Response:
        rows = (await read_document(request)).get("verify_responses")
        if not isinstance(rows, list):
            raise RequestError("verify_responses", f"is a {type(rows).__name__}", "send a list of verify responses")
        for index, row in enumerate(rows):
            if not isinstance(row, dict):
                raise RequestError(f"verify_responses[{index}]", "is no object", "send verify responses as they came")
        return reply(await anyio.to_thread.run_sync(self._resources.aggregate, rows))

    async def call_tool(self, tool: Tool, request: Request) -> Response:
        body = await read_document(request)
        cookie_id = str(request.session[SESSION_ID_KEY])
        answer = await while_connected(request, lambda: self.answer_tool(tool, body, cookie_id, request))
        return plain(answer) if isinstance(answer, str) else reply(answer)

    async def answer_tool(self, tool: Tool, arguments: Document, session_id: str, request: Request) -> Document | str:
        """One call in a session, whichever way it came. Raises what the tool raises."""
        engine, _ = self._running()
        call = ToolCall(arguments, self._seeds.public_tests(session_id), session_id, _caller(request))
        return await tool(engine, call)

    def _recording(self) -> tuple[Ledger, Once[Answered]]:
        if self._records is None:
            raise Unavailable("the server is starting or stopping")
        return self._records

    def _running(self) -> tuple[JudgingEngine, Health]:
        if self._engine is None or self._health is None:
            raise Unavailable("the server is starting or stopping")
        return self._engine, self._health


def _start_anew(engine: JudgingEngine, cookie_id: str) -> None:
    """A seed begins a rollout and a verify ends one: either way the sandbox of an earlier one is not to be seen."""
    if engine.sessions is not None:
        engine.sessions.discard(cookie_id)


def _caller(request: Request) -> Caller:
    """Whose share of the sandboxes a request takes, and how long its answer is wanted. Raises RequestError."""
    tenant = key_tenant(request.scope) or request.headers.get(TENANT_HEADER, "")
    given = request.headers.get(DEADLINE_HEADER)
    if len(tenant) > 200:
        raise RequestError(TENANT_HEADER, f"has {len(tenant)} characters", "use at most 200")
    if given is None:
        return Caller(tenant)
    try:
        deadline_s = float(given)
    except ValueError:
        deadline_s = math.nan
    if not 0 < deadline_s < math.inf:
        raise RequestError(DEADLINE_HEADER, f"is {given[:40]!r}", "give seconds as a number greater than zero")
    return Caller(tenant, deadline_s)


def _wants_body(request: Request) -> bool:
    """Whether this client can't retry, and wants "no verdict" as a 200."""
    wish = request.headers.get(NO_VERDICT_HEADER) or request.query_params.get("no_verdict") or ""
    return wish.strip().lower() == "body"


def _answering(handler: Handler) -> Handler:
    """The handler with every error as an answer."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            return error_reply(error)

    return answer
