"""The control plane: sandboxes and snapshots over REST, v1 and v2 paths. Every answer is JSON."""

from __future__ import annotations

import hashlib
import json
import re
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import anyio
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.errors import BoxLost
from sandbox_gym.server.accounts import Tenant
from sandbox_gym.server.e2b_api.access import api_key
from sandbox_gym.server.e2b_api.bodies import moment, number, page, read_object, text, texts, whole
from sandbox_gym.server.e2b_api.faults import Fault, as_json, fault_of, sandbox_not_found
from sandbox_gym.server.e2b_api.rules import ALL, wanted
from sandbox_gym.server.e2b_api.sandbox import Sandbox, Wish
from sandbox_gym.server.e2b_api.sandboxes import Sandboxes

ENVD_VERSION: Final = "0.6.4"
CLIENT_ID: Final = "sandbox-gym"
DEFAULT_TIMEOUT_S: Final = 300
MAX_REPEATS: Final = 10_000
REPEAT_S: Final = 600.0
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}(:\d{1,5})?")
Handler = Callable[[Tenant, Request, Sequence[str]], Awaitable[Response]]


class Control:
    """The routes. `domain`: told to clients, where sandboxes have host names."""

    def __init__(self, sandboxes: Sandboxes, domain: str) -> None:
        self._sandboxes, self._domain = sandboxes, domain
        self._repeats: OrderedDict[tuple[str, str], _Repeat] = OrderedDict()
        self._routes: dict[tuple[str, str], Handler] = {
            ("POST", "sandboxes"): self._create,
            ("GET", "sandboxes"): self._list,
            ("GET", "sandboxes/*"): self._info,
            ("DELETE", "sandboxes/*"): self._kill,
            ("POST", "sandboxes/*/connect"): self._connect,
            ("POST", "sandboxes/*/resume"): self._resume,
            ("POST", "sandboxes/*/timeout"): self._timeout,
            ("POST", "sandboxes/*/refreshes"): self._refresh,
            ("GET", "sandboxes/*/metrics"): self._metrics,
            ("POST", "sandboxes/*/pause"): self._pause,
            ("POST", "sandboxes/*/snapshots"): self._snapshot,
            ("POST", "sandboxes/*/fork"): self._fork,
            ("PUT", "sandboxes/*/network"): self._network,
            ("GET", "snapshots"): self._snapshots,
            ("GET", "templates/aliases"): self._alias,
            ("DELETE", "templates/*"): self._delete_template,
        }

    async def answer(self, request: Request) -> Response:
        try:
            tenant = self._sandboxes.accounts.tenant(api_key(request))
            if tenant is None:
                raise Fault(401, "Invalid API key")
            parts = [urllib.parse.unquote(part) for part in request.scope["raw_path"].decode("latin-1").split("/")[1:]]
            if parts[0] == "v2":
                parts = parts[1:]
            shape = "/".join("*" if index == 1 else part for index, part in enumerate(parts))
            if parts[:2] == ["templates", "aliases"] and len(parts) == 3:
                shape = "templates/aliases"
            handler = self._routes.get((request.method, shape))
            if handler is None:
                raise Fault(404, f"no route {request.method} {request.url.path[:200]}")
            return await handler(tenant, request, parts)
        except BoxLost:
            return sandbox_not_found(parts[1] if len(parts) > 1 else "").response()
        except Exception as error:
            return fault_of(error).response()

    # -- making and ending

    async def _create(self, tenant: Tenant, request: Request, _: Sequence[str]) -> Response:
        document = await read_object(request)
        key = request.headers.get("idempotency-key", "")
        if not key:
            return as_json(self._view(await self._sandboxes.create(tenant, _wish(document))), 201)
        repeat = self._repeat(tenant, key, document)
        async with repeat.lock:
            known = self._sandboxes.find(repeat.sandbox_id)
            if known is None:
                known = await self._sandboxes.create(tenant, _wish(document))
                repeat.sandbox_id = known.sandbox_id
            return as_json(self._view(known), 201)

    def _repeat(self, tenant: Tenant, key: str, document: Mapping[str, object]) -> _Repeat:
        """What came of a key before. Raises Fault 409 when it came with another request."""
        now = time.monotonic()
        while self._repeats and next(iter(self._repeats.values())).at < now - REPEAT_S:
            self._repeats.popitem(last=False)
        digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
        repeat = self._repeats.setdefault((tenant.name, key[:255]), _Repeat(digest, now))
        if repeat.digest != digest:
            raise Fault(409, "the Idempotency-Key was used for another request")
        while len(self._repeats) > MAX_REPEATS:
            self._repeats.popitem(last=False)
        return repeat

    async def _kill(self, tenant: Tenant, _: Request, parts: Sequence[str]) -> Response:
        await self._sandboxes.kill(self._sandboxes.of(tenant, parts[1]))
        return Response(status_code=204)

    async def _connect(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        sandbox = self._sandboxes.of(tenant, parts[1])
        document = await read_object(request)
        woken = await self._sandboxes.resume(tenant, sandbox, whole(document, "timeout", DEFAULT_TIMEOUT_S))
        return as_json(self._view(sandbox), 201 if woken else 200)

    async def _resume(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        """As older clients ask: a sandbox that runs is a conflict."""
        sandbox = self._sandboxes.of(tenant, parts[1])
        document = await read_object(request)
        if not await self._sandboxes.resume(tenant, sandbox, whole(document, "timeout", DEFAULT_TIMEOUT_S)):
            raise Fault(409, f"Sandbox {sandbox.sandbox_id} is already running")
        return as_json(self._view(sandbox), 201)

    async def _timeout(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        sandbox = self._sandboxes.of(tenant, parts[1])
        seconds = whole(await read_object(request), "timeout", DEFAULT_TIMEOUT_S)
        return self._extend(tenant, sandbox, time.time() + seconds, seconds)

    async def _refresh(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        """As older clients ask: only ever longer."""
        sandbox = self._sandboxes.of(tenant, parts[1])
        seconds = whole(await read_object(request), "duration", 60)
        return self._extend(tenant, sandbox, max(sandbox.end_at, time.time() + seconds), seconds)

    def _extend(self, tenant: Tenant, sandbox: Sandbox, end_at: float, seconds: int) -> Response:
        if not sandbox.running:
            raise sandbox_not_found(sandbox.sandbox_id)
        if not 0 <= seconds <= tenant.max_timeout_s:
            raise Fault(400, f"Timeout cannot be greater than {tenant.max_timeout_s / 3600:g} hours, or negative")
        sandbox.end_at = end_at
        return Response(status_code=204)

    async def _pause(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        sandbox = self._sandboxes.of(tenant, parts[1])
        await read_object(request)
        await self._sandboxes.pause(sandbox)
        return Response(status_code=204)

    # -- looking

    async def _info(self, tenant: Tenant, _: Request, parts: Sequence[str]) -> Response:
        return as_json(self._details(self._sandboxes.of(tenant, parts[1]), whole=True))

    async def _list(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        query = request.query_params
        found = self._filtered(tenant, request)
        if "v2" not in request.url.path.split("/", 2)[1]:
            found = [one for one in found if one.running]  # as it was before there were paused ones
        found.sort(key=lambda one: (one.kept.started_at, one.sandbox_id), reverse=query.get("order") != "asc")
        shown, token = page(found, query)
        headers = {"X-Next-Token": token} if token else {}
        return as_json([self._details(one) for one in shown], 200, headers)

    def _filtered(self, tenant: Tenant, request: Request) -> list[Sandbox]:
        query = request.query_params
        states = {state for text in query.getlist("state") for state in text.split(",") if state}
        metadata = {
            urllib.parse.unquote(key): urllib.parse.unquote(value)
            for key, value in urllib.parse.parse_qsl(query.get("metadata", ""), keep_blank_values=True)
        }
        after = moment(query.get("startedAfter", ""))
        template = query.get("template", "")
        return [
            one
            for one in self._sandboxes.all_of(tenant)
            if (not states or _state(one) in states)
            and all(one.kept.metadata.get(key) == value for key, value in metadata.items())
            and (after is None or one.kept.started_at > after)
            and (not template or template in (one.kept.template, one.kept.image))
        ]

    async def _metrics(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        sandbox = self._sandboxes.of(tenant, parts[1])
        if sandbox.running and not sandbox.samples:
            await self._sandboxes.sample(sandbox)
        start, end = (number(request.query_params.get(name, "")) for name in ("start", "end"))
        limits = self._sandboxes.machines.limits_of(sandbox.kept.image)
        return as_json(
            [
                {
                    "timestamp": _iso(one.at),
                    "timestampUnix": int(one.at),
                    "cpuCount": max(1, round(limits.cpus)),
                    "cpuUsedPct": round(one.cpu_pct, 2),
                    "memTotal": limits.memory_bytes,
                    "memUsed": one.memory,
                    "memCache": 0,
                    "diskTotal": limits.scratch_bytes,
                    "diskUsed": one.disk,
                }
                for one in sandbox.samples
                if (start is None or int(one.at) >= start) and (end is None or int(one.at) <= end)
            ]
        )

    # -- snapshots

    async def _snapshot(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        sandbox = self._sandboxes.of(tenant, parts[1])
        name = text(await read_object(request), "name", 128)
        image = await self._sandboxes.snapshot(tenant, sandbox, name)
        return as_json(_snapshot_view(image.snapshot_id, image.name), 201)

    async def _snapshots(self, tenant: Tenant, request: Request, _: Sequence[str]) -> Response:
        query = request.query_params
        sandbox_id, name = query.get("sandboxID", ""), query.get("name", "").removesuffix(":default")
        found = [
            one
            for one in self._sandboxes.images.of(tenant)
            if (not sandbox_id or one.sandbox_id == sandbox_id) and (not name or one.name == name)
        ]
        shown, token = page(found, query)
        headers = {"X-Next-Token": token} if token else {}
        return as_json([_snapshot_view(one.snapshot_id, one.name) for one in shown], 200, headers)

    async def _delete_template(self, tenant: Tenant, _: Request, parts: Sequence[str]) -> Response:
        await self._sandboxes.delete_image(tenant, parts[1])
        return Response(status_code=204)

    async def _alias(self, tenant: Tenant, _: Request, parts: Sequence[str]) -> Response:
        """Whether a template is there: one of this machine's images, or a tenant's own snapshot."""
        await self._sandboxes.source(tenant, parts[2])
        return as_json({"templateID": parts[2], "public": False})

    async def _network(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        """Rules of a sandbox that runs. With a way out it is another list from now on; without one, only what is so
        already is granted: that it reaches nothing."""
        sandbox = self._sandboxes.of(tenant, parts[1])
        document = await read_object(request)
        everything, allow_out = wanted(document.get("allow_internet_access"), document, strict=True)
        if sandbox.kept.network or (everything and tenant.network):
            raise Fault(400, "a sandbox has the network it was made with, all of this machine's or a list of it")
        if everything or allow_out or sandbox.kept.allow_out is not None:
            self._sandboxes.restrict(tenant, sandbox, tenant.allow_out if everything else allow_out)
        return Response(status_code=204)

    async def _fork(self, tenant: Tenant, request: Request, parts: Sequence[str]) -> Response:
        sandbox = self._sandboxes.of(tenant, parts[1])
        document = await read_object(request)
        count, seconds = whole(document, "count", 1), whole(document, "timeout", DEFAULT_TIMEOUT_S)
        answers: list[object] = []
        for one in await self._sandboxes.fork(tenant, sandbox, count, seconds):
            if isinstance(one, Sandbox):
                answers.append({"sandbox": self._view(one)})
            else:
                fault = fault_of(one)
                answers.append({"error": {"code": fault.status, "message": fault.message}})
        return as_json(answers, 201)

    # -- views

    def _view(self, sandbox: Sandbox) -> dict[str, object]:
        view: dict[str, object] = {
            "templateID": sandbox.kept.template,
            "sandboxID": sandbox.sandbox_id,
            "clientID": CLIENT_ID,
            "envdVersion": ENVD_VERSION,
            "alias": sandbox.kept.template,
            "envdAccessToken": sandbox.kept.token,
            "trafficAccessToken": sandbox.kept.traffic_token,
        }
        return {**view, "domain": self._domain} if self._domain else view

    def _details(self, sandbox: Sandbox, *, whole: bool = False) -> dict[str, object]:
        kept = sandbox.kept
        limits = self._sandboxes.machines.limits_of(kept.image)
        details: dict[str, object] = {
            "templateID": kept.template,
            "sandboxID": sandbox.sandbox_id,
            "clientID": CLIENT_ID,
            "startedAt": _iso(kept.started_at),
            "endAt": _iso(sandbox.end_at),
            "envdVersion": ENVD_VERSION,
            "alias": kept.template,
            "cpuCount": max(1, round(limits.cpus)),
            "memoryMB": limits.memory_bytes >> 20,
            "diskSizeMB": limits.scratch_bytes >> 20,
            "state": _state(sandbox),
            "metadata": dict(kept.metadata),
        }
        if whole:
            details["envdAccessToken"] = kept.token
            details["allowInternetAccess"] = kept.network or bool(kept.allow_out)
            details["network"] = {
                "allowPublicTraffic": kept.public_traffic and not kept.network,
                **({"allowOut": list(kept.allow_out), "denyOut": [ALL]} if kept.allow_out else {}),
                **({"maskRequestHost": kept.mask_host} if kept.mask_host else {}),
            }
            on_timeout = "pause" if kept.auto_pause else "kill"
            details["lifecycle"] = {"onTimeout": on_timeout, "autoResume": kept.auto_resume}
            details.update({"domain": self._domain} if self._domain else {})
            details.update({} if sandbox.running else {"pauseMode": "filesystem"})
        return details


class _Repeat:
    """What an Idempotency-Key stands for."""

    def __init__(self, digest: str, at: float) -> None:
        self.digest, self.at, self.sandbox_id = digest, at, ""
        self.lock = anyio.Lock()


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def _state(sandbox: Sandbox) -> str:
    return "running" if sandbox.running else "paused"


def _snapshot_view(snapshot_id: str, name: str) -> dict[str, object]:
    return {"snapshotID": snapshot_id, "names": [name] if name else []}


def _wish(document: Mapping[str, object]) -> Wish:
    network, resume = document.get("network"), document.get("autoResume")
    everything, allow_out = wanted(document.get("allow_internet_access"), network)
    if document.get("mcp") or document.get("volumeMounts") or document.get("iam"):
        raise Fault(400, "mcp, volumeMounts and iam are not to be had here")
    return Wish(
        template=text(document, "templateID", 200),
        timeout_s=whole(document, "timeout", DEFAULT_TIMEOUT_S),
        metadata=texts(document, "metadata"),
        env=texts(document, "envVars"),
        auto_pause=document.get("autoPause") is True,
        auto_resume=isinstance(resume, dict) and resume.get("enabled", resume.get("policy") == "any") is True,
        public_traffic=not (isinstance(network, dict) and network.get("allowPublicTraffic") is False),
        network=everything,
        allow_out=allow_out,
        mask_host=_mask(network),
    )


def _mask(rules: object) -> str:
    """The Host that the sandbox's ports are told. Raises Fault 400 for what can be none."""
    mask = rules.get("maskRequestHost") if isinstance(rules, dict) else None
    if mask is None:
        return ""
    if not isinstance(mask, str) or not _HOST.fullmatch(mask.replace("${PORT}", "1")):
        raise Fault(400, "network.maskRequestHost is a host, with or without :${PORT}")
    return mask
