"""The control plane: sandboxes and snapshots over REST, v1 and v2 paths. Every answer is JSON."""

from __future__ import annotations

import math
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Protocol

from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import api_key, is_upload
from sandbox_gym.e2b_server.control import routes as declared
from sandbox_gym.e2b_server.control import shapes
from sandbox_gym.e2b_server.control.bodies import moment, page, read_model, read_object, read_query
from sandbox_gym.e2b_server.control.repeats import Repeats
from sandbox_gym.e2b_server.control.requests import DEFAULT_TIMEOUT_S, given_or, sandbox_request, wanted
from sandbox_gym.e2b_server.control.shapes import checked
from sandbox_gym.e2b_server.control.views import Views, snapshot_view, state_of
from sandbox_gym.e2b_server.faults import Fault, as_json, fault_of, sandbox_not_found
from sandbox_gym.e2b_server.routing import Routes
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.records import SandboxRecord
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox, SandboxRequest, check_timeout, restrict
from sandbox_gym.errors import BoxLost
from sandbox_gym.server.access.accounts import Tenant
from sandbox_gym.server.openapi import Operation

Parts = Mapping[str, str]
Handler = Callable[[Tenant, Request, Parts], Awaitable[Response]]
OfOne = Callable[[Tenant, Request, Sandbox], Awaitable[Response]]


class TemplateRoutes(Protocol):
    """The routes of template builds, and what else they have to do with."""

    def routes(self) -> Sequence[tuple[Operation, Handler]]: ...

    async def upload(self, request: Request) -> Response: ...

    async def create(self, tenant: Tenant, asked: SandboxRequest) -> Sandbox:
        """A sandbox, with its template's start command running in it. Raises Fault, Unavailable."""


class Control:
    """The control plane's routes. `domain`: where sandboxes have host names; sent to clients."""

    def __init__(self, sandboxes: Sandboxes, templates: TemplateRoutes, domain: str) -> None:
        self._sandboxes, self._templates = sandboxes, templates
        self._repeats = Repeats()
        self._views = Views(sandboxes, domain)
        self._routes: Routes[Handler] = Routes(self.routes())

    def routes(self) -> Sequence[tuple[Operation, Handler]]:
        """Every declared route with its handler."""
        of_one: list[tuple[Operation, OfOne]] = [
            (declared.INFO, self._info),
            (declared.KILL, self._kill),
            (declared.CONNECT, self._connect),
            (declared.RESUME, self._resume),
            (declared.TIMEOUT, self._timeout),
            (declared.REFRESH, self._refresh),
            (declared.METRICS, self._metrics),
            (declared.PAUSE, self._pause),
            (declared.SNAPSHOT, self._snapshot),
            (declared.FORK, self._fork),
            (declared.NETWORK, self._network),
        ]
        twice: list[tuple[Operation, Handler]] = [
            (declared.CREATE, self._create),
            *((operation, partial(self._of_one, handler=handler)) for operation, handler in of_one),
        ]
        return [
            *twice,
            *((declared.second(operation), handler) for operation, handler in twice),
            (declared.LIST_RUNNING, partial(self._list, paused=False)),
            (declared.LIST, partial(self._list, paused=True)),
            (declared.SNAPSHOTS, self._snapshots),
            (declared.ALIAS, self._alias),
            (declared.DELETE_TEMPLATE, self._delete_template),
            *self._templates.routes(),
        ]

    async def answer(self, request: Request) -> Response:
        """Raises Fault and what it is made of."""
        parts: Parts = {}
        try:
            if is_upload(request.scope):
                return await self._templates.upload(request)
            tenant = self._sandboxes.accounts.tenant(api_key(request))
            if tenant is None:
                raise Fault(401, "Invalid API key")
            handler, parts = self._routes.find(request)
            return await handler(tenant, request, parts)
        except BoxLost:
            raise sandbox_not_found(parts.get("sandboxID", "")) from None

    async def _of_one(self, tenant: Tenant, request: Request, parts: Parts, *, handler: OfOne) -> Response:
        """Call the handler of a route below a sandbox. Raises Fault 404."""
        return await handler(tenant, request, self._sandboxes.of(tenant, parts["sandboxID"]))

    # -- create and kill

    async def _create(self, tenant: Tenant, request: Request, _: Parts) -> Response:
        document = await read_object(request)
        asked = sandbox_request(checked(shapes.CreateSandbox, document))
        key = request.headers.get("idempotency-key", "")
        if not key:
            return as_json(self._views.brief(await self._templates.create(tenant, asked)), 201)
        repeat = self._repeats.of(tenant, key, document)
        async with repeat.lock:
            known = self._sandboxes.find(repeat.sandbox_id)
            if known is None:
                known = await self._templates.create(tenant, asked)
                repeat.sandbox_id = known.sandbox_id
            return as_json(self._views.brief(known), 201)

    async def _kill(self, tenant: Tenant, _: Request, sandbox: Sandbox) -> Response:
        await self._sandboxes.kill(sandbox)
        return Response(status_code=204)

    async def _connect(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        woken = await self._wake(tenant, request, sandbox)
        return as_json(self._views.brief(sandbox), 201 if woken else 200)

    async def _wake(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> bool:
        asked = await read_model(request, shapes.Resume)
        seconds = given_or(asked.timeout, DEFAULT_TIMEOUT_S)
        return await self._sandboxes.resume(tenant, sandbox, seconds, memory=asked.memory is not False)

    async def _resume(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        """For older clients: a running sandbox is a conflict."""
        if not await self._wake(tenant, request, sandbox):
            raise Fault(409, f"Sandbox {sandbox.sandbox_id} is already running")
        return as_json(self._views.brief(sandbox), 201)

    async def _timeout(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        seconds = given_or((await read_model(request, shapes.Timeout)).timeout, DEFAULT_TIMEOUT_S)
        return self._extend(tenant, sandbox, seconds)

    async def _refresh(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        """For older clients: extends the sandbox's life, never shortens it."""
        seconds = given_or((await read_model(request, shapes.Refresh)).duration, 60)
        return self._extend(tenant, sandbox, seconds, shorten=False)

    def _extend(self, tenant: Tenant, sandbox: Sandbox, seconds: int, *, shorten: bool = True) -> Response:
        if not sandbox.running:
            raise sandbox_not_found(sandbox.sandbox_id)
        check_timeout(tenant, seconds)
        if shorten or sandbox.until < time.monotonic() + seconds:
            sandbox.lasts(seconds)
        return Response(status_code=204)

    async def _pause(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        asked = await read_model(request, shapes.Pause)
        await self._sandboxes.pause(sandbox, memory=asked.memory is not False)
        return Response(status_code=204)

    # -- list and inspect

    async def _info(self, tenant: Tenant, _: Request, sandbox: Sandbox) -> Response:
        return as_json(self._views.whole(sandbox))

    async def _list(self, tenant: Tenant, request: Request, _: Parts, *, paused: bool) -> Response:
        """`paused`: list paused sandboxes too; the v1 route lists running ones only."""
        query = read_query(request, shapes.SandboxQuery)
        states = {state for text in request.query_params.getlist("state") for state in text.split(",") if state}
        found = [one for one in self._filtered(tenant, query, states) if paused or one.running]
        return page(found, query, self._views.listed, lambda one: (one.record.started_at, one.sandbox_id))

    def _filtered(self, tenant: Tenant, query: shapes.SandboxQuery, states: Set[str]) -> list[Sandbox]:
        metadata = {
            urllib.parse.unquote(key): urllib.parse.unquote(value)
            for key, value in urllib.parse.parse_qsl(query.metadata or "", keep_blank_values=True)
        }
        after, template = moment(query.started_after or ""), query.template or ""
        return [
            one
            for one in self._sandboxes.all_of(tenant)
            if (not states or state_of(one) in states)
            and all(one.record.metadata.get(key) == value for key, value in metadata.items())
            and (after is None or one.record.started_at >= after - 1e-6)
            and (not template or template in _templates(one.record))
        ]

    async def _metrics(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        if sandbox.running and not sandbox.samples:
            await self._sandboxes.sample(sandbox)
        query = read_query(request, shapes.MetricsQuery)
        since, until = query.start or 0, math.inf if query.end is None else query.end
        shown = [one for one in sandbox.samples if since <= int(one.at) <= until]
        return as_json(self._views.metrics(sandbox, shown))

    # -- snapshots

    async def _snapshot(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        name = (await read_model(request, shapes.MakeSnapshot)).name or ""
        return as_json(snapshot_view(await self._sandboxes.snapshot(tenant, sandbox, name)), 201)

    async def _snapshots(self, tenant: Tenant, request: Request, _: Parts) -> Response:
        query = read_query(request, shapes.SnapshotQuery)
        found = self._sandboxes.images.snapshots(tenant, query.sandbox_id or "", query.name or "")
        return page(found, query, snapshot_view, lambda one: (one.created_at, one.snapshot_id))

    async def _delete_template(self, tenant: Tenant, _: Request, parts: Parts) -> Response:
        await self._sandboxes.delete_image(tenant, parts["templateID"])
        return Response(status_code=204)

    async def _alias(self, tenant: Tenant, _: Request, parts: Parts) -> Response:
        """Whether a template is there: one of this machine's images, or a tenant's own snapshot."""
        builds = self._sandboxes.images.of_template(tenant, parts["alias"])  # with any tag
        kept = builds[0] if builds else (await self._sandboxes.source(tenant, parts["alias"]))[1]
        template_id = kept.made.template_id if kept is not None else ""
        alias: shapes.Alias = {"templateID": template_id or parts["alias"], "public": False}
        return as_json(alias)

    async def _network(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        """Replace the network rules of a running sandbox. One made with an egress proxy gets a new allow-list; for one
        made without, the only rule that is accepted is that it reaches nothing."""
        change = await read_model(request, shapes.ChangeNetwork)
        everything, allow_out = wanted(change.allow_internet_access, change, strict=True)
        if sandbox.record.network or (everything and tenant.network):
            raise Fault(
                400,
                "a sandbox keeps the kind of network that it was created with: the machine's network, or an allow-list",
            )
        entries = tenant.allow_out if everything else allow_out
        if entries or sandbox.record.allow_out is not None:
            restrict(tenant, sandbox, entries)
        sandbox.record = replace(sandbox.record, deny_out=change.deny_out or ())
        return Response(status_code=204)

    async def _fork(self, tenant: Tenant, request: Request, sandbox: Sandbox) -> Response:
        how = await read_model(request, shapes.Fork)
        count, seconds = given_or(how.count, 1), given_or(how.timeout, DEFAULT_TIMEOUT_S)
        answers: list[shapes.ForkAnswer] = []
        for one in await self._sandboxes.fork(tenant, sandbox, count, seconds):
            if isinstance(one, Sandbox):
                answers.append({"sandbox": self._views.brief(one)})
            else:
                fault = fault_of(one)
                answers.append({"error": {"code": fault.status, "message": fault.message}})
        return as_json(answers, 201)


def _templates(record: SandboxRecord) -> tuple[str, ...]:
    """The names and ids of a sandbox's template."""
    return record.template, record.template.partition(":")[0], record.template_id, record.image
