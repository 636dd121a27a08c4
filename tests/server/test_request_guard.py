"""Every route of every application without a token, asked as a page of another site can ask: none gets past the guard.

Routes are read from the applications, so that a new one is here unasked. The applications don't run: what gets past is
answered 503, 404 or 422, and never 421, 403 or 415.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, cast

import pytest
from starlette.types import ASGIApp

import sandbox_gym
from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.server.access.request_guard import SETTING, AllowedHosts, host_of
from sandbox_gym.server.registry import SERVERS
from tests.server.applications import HOST, Served, ask, pool, resources_server, served

REFUSALS: Final = (421, 403, 415)
FOREIGN_HOSTS: Final = (
    *("evil.example", "evil.example:8080", "sandbox.evil.example", "localhost.evil.example", "127.0.0.1.evil.example"),
    *("8000-i0123456789abcdefghij.evil.example", "49983-i0123456789abcdefghij.evil.example", "api.evil.example"),
    *("coding", "localhost.", "10.0.0.1", "0.0.0.0", "2130706433", "127.1", "[::2]:8080", "::1", "[::1", "]::[", "[]"),
    *("localhost:", "localhost:0", "localhost:99999", "localhost:80:80", "user@localhost", "localhost/", "", " "),
    *("localhost, evil.example", "[127.0.0.1]", "[::1%25lo]", "localhost\tevil", "locálhost", "evil.localhost"),
)
OWN_HOSTS: Final = ("localhost", "LOCALHOST:1", HOST, "127.0.0.1", "127.0.0.1:8080", "127.9.9.9", "[::1]", "[::1]:80")
FOREIGN_SENDERS: Final[Sequence[dict[str, str]]] = (
    {"origin": "https://evil.example"},
    {"origin": "http://evil.example:8080"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": "file://"},
    {"origin": "http://localhost:9999"},
    {"origin": "http://localhost"},
    {"origin": "http://127.0.0.1:8080"},
    {"origin": f"http://{HOST}.evil.example"},
    {"origin": f"http://{HOST} http://evil.example"},
    {"origin": f"chrome-extension://{HOST}"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "Cross-Site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    {"sec-fetch-site": "same-origin", "origin": "https://evil.example"},
)
FORM_TYPES: Final = (
    *("text/plain", "text/plain;charset=UTF-8", "TEXT/PLAIN ", "application/x-www-form-urlencoded"),
    *("multipart/form-data; boundary=x", ""),
)


@pytest.fixture(params=[*SERVERS, "workers", "pool"])
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return served(request.param, tmp_path_factory.getbasetemp())


def wrong(
    app: ASGIApp, requests: Sequence[tuple[str, str, dict[str, str]]], status: int, body: bytes = b""
) -> list[tuple[object, ...]]:
    """The requests that were not refused so, each with its answer."""
    answers = ask(app, requests, body)
    return [
        (*request, asked.status) for request, asked in zip(requests, answers, strict=True) if asked.status != status
    ]


def methods(routes: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those, a preflight and a HEAD of each path."""
    return {*routes, *((method, path) for _, path in routes for method in ("OPTIONS", "HEAD"))}


def test_no_route_answers_at_another_hosts_name(one: Served) -> None:
    hosts = [{"host": host} for host in FOREIGN_HOSTS]
    assert wrong(one.app, [(*route, headers) for route in methods(one.routes) for headers in (*hosts, {})], 421) == []


def test_no_route_answers_a_page_of_another_origin(one: Served) -> None:
    senders = [{"host": HOST, **sender} for sender in FOREIGN_SENDERS]
    assert wrong(one.app, [(*route, headers) for route in methods(one.routes) for headers in senders], 403) == []


def test_no_route_that_does_something_takes_what_a_form_can_send(one: Served) -> None:
    does = [route for route in one.routes if route[0] not in ("GET", "HEAD")]
    assert len(does) > 4
    typed = [{"host": HOST, "content-length": "2", **({"content-type": kind} if kind else {})} for kind in FORM_TYPES]
    forms = ("/dashboard/login", "/dashboard/logout")
    requests = [(*route, headers) for route in does if route[1] not in forms for headers in typed]
    assert wrong(one.app, requests, 415, b"{}") == []


def test_our_own_page_and_programs_get_past(one: Served) -> None:
    page = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
    senders = [{"host": HOST, **page}, {"host": HOST}, {"host": HOST, "sec-fetch-site": "none"}]
    # the one asks for a header of its own besides; the others wait for each worker
    does = {"/dashboard/api/verdicts/1/rejudge", "/health", "/metrics", "/close_session"}
    requests = [
        (*route, {**headers, "content-type": "application/json"})
        for route in one.routes if route[1] not in does for headers in senders
    ]  # fmt: skip
    past = ask(one.app, requests, b"{}")
    assert [
        (request, asked.status) for request, asked in zip(requests, past, strict=True) if asked.status in REFUSALS
    ] == []
    assert all("access-control-allow-origin" not in asked.headers for asked in past)
    assert all(asked.headers.get("cross-origin-resource-policy") == "same-origin" for asked in past)
    assert all(asked.headers.get("x-content-type-options") == "nosniff" for asked in past)


@pytest.mark.parametrize("host", OWN_HOSTS)
def test_its_own_hosts(one: Served, host: str) -> None:
    assert ask(one.app, [("GET", "/nothing", {"host": host})])[0].status not in REFUSALS


def test_a_refusal_names_the_setting(one: Served) -> None:
    (asked,) = ask(one.app, [("POST", "/verify", {"host": "gpu-7:8080"})])
    assert asked.status == 421
    assert SETTING.encode() in asked.body
    assert b"SANDBOX_GYM_TOKEN" in asked.body
    assert "set-cookie" not in asked.headers


def test_links_open_pages_of_the_dashboard_and_nothing_else() -> None:
    link = {"host": HOST, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    coding = resources_server("coding")
    for path, status in (
        ("/dashboard", 200), ("/dashboard/verdicts/" + 32 * "0", 200), ("/dashboard/api/live", 403), ("/health", 403),
        ("/metrics", 403), ("/openapi.json", 403), ("/mcp", 403),
    ):  # fmt: skip
        assert ask(coding.app, [("GET", path, link)])[0].status == status, path
    assert ask(coding.app, [("POST", "/dashboard/logout", link)])[0].status == 403


def test_configured_names_and_the_bound_address_are_its_own() -> None:
    named = resources_server("coding", allowed_hosts=["gpu-7", "Coding.Internal", "10.0.0.2"])
    for host in ("gpu-7:8080", "coding.internal", "10.0.0.2:1", "localhost"):
        assert ask(named.app, [("GET", "/nothing", {"host": host})])[0].status == 404, host
    for host in ("gpu-8", "internal", "x.gpu-7", "10.0.0.3"):
        assert ask(named.app, [("GET", "/nothing", {"host": host})])[0].status == 421, host
    bound = AllowedHosts("10.0.0.1")
    assert [bound.admit(host) for host in ("10.0.0.1", "127.0.0.1", "10.0.0.2", "evil.example")] == [
        True,
        True,
        False,
        False,
    ]
    for bind in ("0.0.0.0", "::", "gpu-7"):
        everywhere = AllowedHosts(bind)
        assert everywhere.admit("10.0.0.2")
        assert everywhere.admit("fe80::1")
        assert not everywhere.admit("evil.example")
    assert AllowedHosts("gpu-7").admit("gpu-7")


def test_a_server_beyond_loopback_without_a_token_checks_too() -> None:
    opened = resources_server("coding", host="0.0.0.0", allow_unauthenticated=True)
    assert ask(opened.app, [("GET", "/nothing", {"host": "172.17.0.2:8080"})])[0].status == 404
    assert ask(opened.app, [("GET", "/nothing", {"host": "evil.example:8080"})])[0].status == 421


@pytest.mark.parametrize("name", ["http://gpu-7", "gpu-7:8080", "a b", "", "*"])
def test_what_is_no_host_is_told_at_the_start(name: str) -> None:
    with pytest.raises(ConfigurationError, match="allowed_hosts"):
        Settings.from_flat({"allowed_hosts": [name]})


def test_with_a_token_whatever_leads_here_is_its_name() -> None:
    coding = resources_server("coding", token="t")
    bearer = {"host": "coding.default.svc", "authorization": "Bearer t", "content-type": "text/plain"}
    assert ask(coding.app, [("POST", "/nothing", bearer)])[0].status == 404
    for sender in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert ask(coding.app, [("POST", "/mcp", {**bearer, **sender})])[0].status in (403, 503)


def test_a_pools_sandboxes_are_at_its_domain_and_at_localhost() -> None:
    named = pool("boxes.example")
    sandbox = "i0123456789abcdefghij"
    for host in (
        f"8000-{sandbox}.boxes.example",
        f"8000-{sandbox}.localhost:8090",
        "api.boxes.example",
        "boxes.example",
    ):
        assert ask(named.app, [("GET", "/", {"host": host})])[0].status == 503, host
    for host in ("sandbox.evil.example", f"8000-{sandbox}.evil.example", f"99999-{sandbox}.localhost", "x.localhost"):
        assert ask(named.app, [("GET", "/", {"host": host})])[0].status == 421, host
    foreign = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    ports = {f"8000-{sandbox}.boxes.example": 503, f"49983-{sandbox}.boxes.example": 403, "api.boxes.example": 403}
    for host, status in ports.items():  # a program in a sandbox takes other sites' pages as it likes
        assert ask(named.app, [("POST", "/", {"host": host, **foreign})])[0].status == status, host
    signed = ("POST", "/files?path=a&signature=v1_x", {"host": f"49983-{sandbox}.localhost", **foreign})
    assert ask(named.app, [signed])[0].status == 503


def test_a_pool_with_keys_answers_at_any_name() -> None:
    named = pool(token="a-key-of-the-pool")
    for host in ("sandbox.pool:8090", "pool:8090", "8000-i0123456789abcdefghij.example"):
        assert ask(named.app, [("GET", "/", {"host": host})])[0].status == 503, host


@pytest.mark.parametrize(
    ("authority", "host"),
    [("a.b:1", "a.b"), ("[::1]:2", "::1"), ("[A::B]", "a::b"), ("A", "a"), ("[1.2.3.4]", None), ("a..b", "a..b"),
     ("-a", None), ("a-", None), (".", None), ("a:b", None), ("[::g]", None), ("é", None), ("a" * 300, None)],
)  # fmt: skip
def test_hosts_are_read_as_they_stand(authority: str, host: str | None) -> None:
    assert host_of(authority) == host


def test_every_listener_of_the_product_is_known_here() -> None:
    """Who opens another one puts the guard in front of it, and its routes into the tests above."""
    root = Path(cast(Any, sandbox_gym.__file__)).parent
    opens = re.compile(
        r"(?<!def )serve_app\(|(?<!class )BoundedConfig\(|uvicorn\.(?:run|Config)\("
        r"|http\.server|asyncio\.start_server|create_tcp_listener|aiohttp\.web|hypercorn"
    )
    found = {
        str(path.relative_to(root)): len(opens.findall(path.read_text("utf-8")))
        for path in root.rglob("*.py") if opens.search(path.read_text("utf-8"))
    }  # fmt: skip
    # launch: a resources server; workers: their common port, and a Unix socket for each; e2b_api: the pool; serving:
    # what the first and the last call
    known = {"server/launch.py": 1, "server/workers/parent.py": 2, "e2b_server/launch.py": 1, "server/serving.py": 1}
    assert found == known
