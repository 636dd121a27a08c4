"""The routes of template builds, each with its declaration."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.e2b_server.access import UPLOADS
from sandbox_gym.e2b_server.builds import shapes
from sandbox_gym.e2b_server.builds.manager import Build, Builds
from sandbox_gym.e2b_server.control.bodies import read_model, read_query
from sandbox_gym.e2b_server.control.routes import ABSENT, CONFLICT, DONE, declare
from sandbox_gym.e2b_server.control.views import ENVD_VERSION, iso
from sandbox_gym.e2b_server.faults import as_json
from sandbox_gym.e2b_server.sandboxes.records import Image
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox, SandboxRequest
from sandbox_gym.server.access.accounts import Tenant
from sandbox_gym.server.openapi import Content, Operation, Reply

Parts = Mapping[str, str]
Handler = Callable[[Tenant, Request, Parts], Awaitable[Response]]


class BuildRoutes:
    """Every route with its handler."""

    def __init__(self, builds: Builds) -> None:
        self._builds = builds

    def routes(self) -> Sequence[tuple[Operation, Handler]]:
        return [
            (declare(
                "request_build", "POST", "/v3/templates", "Request a template's build.",
                {202: Reply("It waits for its steps.", (Content(shapes.RequestedBuild),))}, shapes.RequestBuild,
            ), self._request),
            (declare(
                "start_build", "POST", "/v2/templates/{templateID}/builds/{buildID}", "Start a template's build.",
                {202: Reply("It runs."), **CONFLICT}, shapes.StartBuild,
            ), self._start),
            (declare(
                "build_status", "GET", "/templates/{templateID}/builds/{buildID}/status", "Get how far a build is.",
                {200: Reply("Its status, and some of its log.", (Content(shapes.BuildView),))}, query=shapes.BuildQuery,
            ), self._status),
            (declare(
                "upload_link", "GET", "/templates/{templateID}/files/{hash}", "Get where to upload a step's files.",
                {201: Reply("A link for a PUT of a tar, for an hour.", (Content(shapes.UploadLink),))},
            ), self._files),
            (declare(
                "assign_tags", "POST", "/templates/tags", "Give a template's build further tags.",
                {201: Reply("The build.", (Content(shapes.AssignedTags),)), **ABSENT}, shapes.Tags,
            ), self._assign),
            (declare(
                "remove_tags", "DELETE", "/templates/tags", "Take tags from a template.",
                {**DONE, **ABSENT}, shapes.RemoveTags,
            ), self._remove),
            (declare(
                "template_tags", "GET", "/templates/{templateID}/tags", "List a template's tags.",
                {200: Reply("Each tag with its build.", (Content(list[shapes.TagView]),))},
            ), self._tags),
            (declare(
                "list_templates", "GET", "/templates", "List the templates that this tenant has built.",
                {200: Reply("Each with its newest build.", (Content(list[shapes.TemplateView]),))},
            ), self._templates),
        ]  # fmt: skip

    async def create(self, tenant: Tenant, asked: SandboxRequest) -> Sandbox:
        """A sandbox, with its template's start command running in it. Raises Fault, Unavailable."""
        return await self._builds.create(tenant, asked)

    async def upload(self, request: Request) -> Response:
        """PUT to a link of `_files`, which is its own secret."""
        await self._builds.uploads.take(request.url.path.removeprefix(UPLOADS), request)
        return Response(status_code=200)

    async def _request(self, tenant: Tenant, request: Request, _: Parts) -> Response:
        build = self._builds.request(tenant, await read_model(request, shapes.RequestBuild))
        view: shapes.RequestedBuild = {
            "templateID": build.template_id,
            "buildID": build.build_id,
            "public": False,
            "names": [build.name],
            "tags": list(build.tags),
            "aliases": [build.name],
        }
        return as_json(view, 202)

    async def _start(self, tenant: Tenant, request: Request, parts: Parts) -> Response:
        build = self._builds.of(tenant, parts["templateID"], parts["buildID"])
        self._builds.start(build, await read_model(request, shapes.StartBuild))
        return Response(status_code=202)

    async def _status(self, tenant: Tenant, request: Request, parts: Parts) -> Response:
        build = self._builds.of(tenant, parts["templateID"], parts["buildID"])
        query = read_query(request, shapes.BuildQuery)
        return as_json(view_of(build, query.logs_offset or 0, shapes.MAX_LOGS if query.limit is None else query.limit))

    async def _files(self, tenant: Tenant, request: Request, parts: Parts) -> Response:
        self._builds.owns(tenant, parts["templateID"])
        uploads, files_hash = self._builds.uploads, parts["hash"]
        url = str(request.base_url).rstrip("/") + uploads.link(tenant, files_hash)
        link: shapes.UploadLink = {"present": uploads.path(tenant, files_hash).exists(), "url": url}
        return as_json(link, 201)

    async def _assign(self, tenant: Tenant, request: Request, _: Parts) -> Response:
        asked = await read_model(request, shapes.Tags)
        image, tags = self._builds.assign(tenant, asked.target, asked.tags)
        view: shapes.AssignedTags = {"tags": list(tags), "buildID": image.made.build_id}
        return as_json(view, 201)

    async def _remove(self, tenant: Tenant, request: Request, _: Parts) -> Response:
        asked = await read_model(request, shapes.RemoveTags)
        self._builds.remove(tenant, asked.name, asked.tags)
        return Response(status_code=204)

    async def _tags(self, tenant: Tenant, _: Request, parts: Parts) -> Response:
        views: list[shapes.TagView] = [
            {"tag": tag.partition(":")[2], "buildID": one.made.build_id, "createdAt": iso(one.created_at)}
            for one in self._builds.builds_of(tenant, parts["templateID"].partition(":")[0])
            for tag in one.names
        ]
        return as_json(views)

    async def _templates(self, tenant: Tenant, _: Request, __: Parts) -> Response:
        builds: dict[str, list[Image]] = {}
        for one in self._builds.images.of(tenant):
            builds.setdefault(one.made.template_id, []).append(one)
        return as_json([self._template(builds[template_id]) for template_id in builds if template_id])

    def _template(self, builds: Sequence[Image]) -> shapes.TemplateView:
        names = list(dict.fromkeys(name.partition(":")[0] for one in builds for name in one.names))
        newest, limits = builds[0], self._builds.limits_of(builds[0])
        return {
            "templateID": newest.made.template_id,
            "buildID": newest.made.build_id,
            "names": names,
            "aliases": names,
            "public": False,
            "cpuCount": max(1, round(limits.cpus)),
            "memoryMB": limits.memory_bytes >> 20,
            "diskSizeMB": limits.scratch_bytes >> 20,
            "createdAt": iso(builds[-1].created_at),
            "updatedAt": iso(newest.created_at),
            "createdBy": None,
            "lastSpawnedAt": None,
            "spawnCount": 0,
            "buildCount": len(builds),
            "envdVersion": ENVD_VERSION,
            "buildStatus": "ready",
        }


def view_of(build: Build, offset: int, limit: int) -> shapes.BuildView:
    """A build's status with some of its log."""
    shown = build.lines[offset : offset + limit]
    view: shapes.BuildView = {
        "templateID": build.template_id,
        "buildID": build.build_id,
        "status": build.status,
        "logs": [text for _, _, text, _ in shown],
        "logEntries": [
            {"timestamp": iso(at), "message": text, "level": level, "step": step}  # type: ignore[typeddict-item]
            for at, level, text, step in shown
        ],
    }
    if build.status == "error":
        view["reason"] = {"message": build.why, "step": build.step}
    return view
