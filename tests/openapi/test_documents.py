"""The documents: every route is in one, with what it takes, what it answers and how it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.testclient import TestClient
from openapi_spec_validator import validate
from starlette.requests import Request
from starlette.routing import Route

from sandbox_gym.config import Settings
from sandbox_gym.e2b_server.control.routes import CREATE, HEALTH, INFO, KILL
from sandbox_gym.e2b_server.documents import PoolDocuments
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.routing import Routes
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.access.accounts import Accounts
from sandbox_gym.server.app import build_app
from sandbox_gym.server.dashboard.routes import pool_operations, server_operations
from sandbox_gym.server.openapi import Content, Operation, Reply, make_document
from sandbox_gym.server.registry import SERVERS
from tests.server.fakes import fake_engine

LEFT_OUT = {
    "/mcp": "JSON-RPC, whose messages MCP itself describes to its clients",
    "/swerex/{sandbox}/{operation}": "SWE-ReX's runtime protocol, whose client has its models",
}
"""Routes that no document has, and why."""
TOKEN = "a-token-of-16-chars"
METHODS = ("get", "post", "put", "delete")


@dataclass
class Shown:
    """A server's client, its routes, and its document."""

    client: TestClient
    routes: set[tuple[str, str]]
    document: dict[str, Any]


@pytest.fixture(params=list(SERVERS))
def shown(request: pytest.FixtureRequest) -> Iterator[Shown]:
    settings = Settings.from_flat({"expose_tools_over_mcp": True, "dashboard_enabled": True})
    app = build_app(SERVERS[request.param](settings, request.param), lambda: fake_engine(FakeProvider()), settings)
    routes = {
        (method, re.sub(r":\w+\}", "}", route.path))
        for route in app.router.routes
        if isinstance(route, Route)
        for method in (route.methods or {"ANY"})
        if method != "HEAD"
    }
    with TestClient(app, base_url="http://localhost") as client:
        yield Shown(client, routes, client.get("/openapi.json").json())


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method.upper(), path, one) for path, item in document["paths"].items() for method, one in item.items()]


def check_whole(document: dict[str, Any]) -> None:
    """Every operation says what it takes, what it gives and how it refuses, with the headers of each status."""
    validate(document)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", name) for name in document["components"]["schemas"])
    for method, path, one in operations(document):
        where = f"{method} {path}"
        replies = one["responses"]
        good = [status for status in replies if status < "400"]
        assert good, where
        assert all(replies[status].get("content") for status in good if status not in ("202", "204", "303")), where
        assert {"400", "403", "405", "421", "431"} <= set(replies), where
        assert all(reply.get("content") for status, reply in replies.items() if status >= "400"), where
        assert "Allow" in replies["405"]["headers"], where
        for status in {"429", "503"} & set(replies):
            assert replies[status]["headers"]["Retry-After"]["required"], where
        if one["security"] and {"traffic_token": []} not in one["security"]:  # there it is 403, which all have
            assert "401" in replies, where
        if "requestBody" in one:
            assert {"408", "413", "415"} <= set(replies), where
            assert all(media["schema"] for media in one["requestBody"]["content"].values()), where


def test_every_route_of_a_resources_server_is_declared(shown: Shown) -> None:
    declared = {(method, path) for method, path, _ in operations(shown.document)}
    listed = {(one.method, one.template) for one in server_operations()}
    left_out = {(method, path) for method, path in shown.routes if path in LEFT_OUT}
    assert left_out  # none is stated for nothing
    assert shown.routes - left_out == declared - listed
    assert listed <= declared
    check_whole(shown.document)
    assert all("requestBody" in one for method, _, one in operations(shown.document) if method == "POST") or {
        path for method, path, one in operations(shown.document) if method == "POST" and "requestBody" not in one
    } == {"/dashboard/logout", "/dashboard/api/verdicts/{id}/rejudge"}


def test_no_tool_takes_or_gives_just_anything(shown: Shown) -> None:
    for _, path, one in operations(shown.document):
        if one["tags"] == ["tools"]:
            if path.endswith(("/list_datasets", "/v1/ping")):
                assert "requestBody" not in one
            else:
                taken = one["requestBody"]["content"]["application/json"]["schema"]
                assert "$ref" in json.dumps(taken), path
            given = one["responses"]["200"]["content"]
            listed = given.get("application/json", {}).get("schema", {}).get("items")
            assert "text/plain" in given or "$ref" in json.dumps(given) or listed, path


@pytest.fixture(scope="module")
def documents() -> dict[str, dict[str, Any]]:
    from sandbox_gym.e2b_server.builds.handlers import BuildRoutes
    from sandbox_gym.e2b_server.control.handlers import Control

    control: Any = Control.__new__(Control)
    control._templates = BuildRoutes.__new__(BuildRoutes)
    routes = [operation for operation, _ in Control.routes(control)]
    pool = PoolDocuments(Accounts({}), [HEALTH, *routes, *pool_operations()])
    return {path: json.loads(bytes(one.document().body)) for path, one in pool._documents.items()}


def test_the_pools_documents_are_whole(documents: dict[str, dict[str, Any]]) -> None:
    assert set(documents) == {"/openapi.json", "/openapi/envd.json", "/openapi/code-interpreter.json"}
    for document in documents.values():
        check_whole(document)
    control = documents["/openapi.json"]["paths"]
    assert {*documents, "/docs", "/docs/envd", "/docs/code-interpreter", "/health", "/sandboxes"} <= set(control)


def test_docs_load_nothing_from_elsewhere(shown: Shown) -> None:
    page = shown.client.get("/docs")
    assert page.status_code == 200
    assert "http" not in page.text
    assert "default-src 'none'; script-src 'self';" in page.headers["content-security-policy"]
    files = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(files) == 3
    for file in files:
        answer = shown.client.get(file)
        assert (answer.status_code, len(answer.content) > 50) == (200, True), file
    assert shown.client.get("/docs/assets/other.js").status_code == 404
    wrong = shown.client.put("/docs")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")


def test_documents_are_behind_the_token() -> None:
    settings = Settings.from_flat({"token": TOKEN})
    app = build_app(SERVERS["math"](settings, "math"), lambda: fake_engine(FakeProvider()), settings)
    with TestClient(app, base_url="http://localhost") as client:
        for path in ("/openapi.json", "/docs", "/docs/assets/swagger-ui.css"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def asked(method: str, path: str) -> Request:
    return Request({"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": []})


def test_pool_routes_by_what_is_declared() -> None:
    routes = Routes([(CREATE, "create"), (INFO, "info"), (KILL, "kill")])
    assert routes.find(asked("POST", "/sandboxes")) == ("create", {})
    assert routes.find(asked("DELETE", "/sandboxes/a%2Fb")) == ("kill", {"sandboxID": "a/b"})
    with pytest.raises(Fault) as caught:
        routes.find(asked("PUT", "/sandboxes/a"))
    assert (caught.value.status, caught.value.headers()) == (405, {"Allow": "DELETE, GET"})
    for path in ("/", "/sandboxes/", "/sandboxes/a/b", "/v2/sandboxes/a"):
        with pytest.raises(Fault) as caught:
            routes.find(asked("GET", path))
        assert caught.value.status == 404


def test_an_operation_that_says_too_little_is_refused() -> None:
    reply = {200: Reply("It.", (Content(str),))}
    one = Operation(method="GET", path="/a/{b}", summary="A.", tag="t", replies=reply)
    with pytest.raises(ValueError, match=r"\['b'\] is not declared"):
        make_document("t", "t", [one])
    plain = Operation(method="GET", path="/a", summary="A.", tag="t", replies=reply)
    with pytest.raises(ValueError, match="declared twice"):
        make_document("t", "t", [plain, plain])
