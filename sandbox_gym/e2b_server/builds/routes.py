"""Declarations of the routes of template builds, for dispatch and for the OpenAPI document."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sandbox_gym.e2b_server.access import UPLOADS
from sandbox_gym.e2b_server.builds import shapes
from sandbox_gym.e2b_server.control.routes import ABSENT, CONFLICT, DONE, declare
from sandbox_gym.server.openapi import Content, Reply

REQUEST: Final = declare(
    "request_build", "POST", "/v3/templates", "Request a template's build.",
    {202: Reply("It waits for its steps.", (Content(shapes.RequestedBuild),))}, shapes.RequestBuild,
)  # fmt: skip
START: Final = declare(
    "start_build", "POST", "/v2/templates/{templateID}/builds/{buildID}", "Start a template's build.",
    {202: Reply("It runs."), **CONFLICT}, shapes.StartBuild,
)  # fmt: skip
STATUS: Final = declare(
    "build_status", "GET", "/templates/{templateID}/builds/{buildID}/status", "Get how far a build is.",
    {200: Reply("Its status, and some of its log.", (Content(shapes.BuildView),))}, query=shapes.BuildQuery,
)  # fmt: skip
FILES: Final = declare(
    "upload_link", "GET", "/templates/{templateID}/files/{hash}", "Get where to upload a step's files.",
    {201: Reply("A link for a PUT of a tar, for an hour.", (Content(shapes.UploadLink),))},
)  # fmt: skip
UPLOAD: Final = replace(
    declare("upload_files", "PUT", UPLOADS + "{token}", "Upload a step's files as a tar.", {200: Reply("Done.")}),
    security=(),
    bodies=(Content(None, "application/octet-stream"),),
)
ASSIGN_TAGS: Final = declare(
    "assign_tags", "POST", "/templates/tags", "Give a template's build further tags.",
    {201: Reply("The build.", (Content(shapes.AssignedTags),)), **ABSENT}, shapes.Tags,
)  # fmt: skip
REMOVE_TAGS: Final = declare(
    "remove_tags", "DELETE", "/templates/tags", "Take tags from a template.", {**DONE, **ABSENT}, shapes.RemoveTags
)
TEMPLATES: Final = declare(
    "list_templates", "GET", "/templates", "List the templates that this tenant has built.",
    {200: Reply("Each with its newest build.", (Content(list[shapes.TemplateView]),))},
)  # fmt: skip
TAGS: Final = declare(
    "template_tags", "GET", "/templates/{templateID}/tags", "List a template's tags.",
    {200: Reply("Each tag with its build.", (Content(list[shapes.TagView]),))},
)  # fmt: skip
