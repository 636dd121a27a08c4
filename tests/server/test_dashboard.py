"""Who may see the dashboard, and what its pages may do."""

from __future__ import annotations

import re
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.dashboard import events
from sandbox_gym.server.dashboard.operator_auth import ACTION_HEADER, LIFE_S, OperatorAuth
from sandbox_gym.server.dashboard.wiring import operator_auth_of
from tests.server.dashboards import (
    TOKEN,
    Opening,
    rejudge,
    verify,
)
from tests.server.fakes import EchoResources, exits_as_told, fake_engine

# -- the door


def test_nothing_is_shown_without_the_token(opening: Opening) -> None:
    client = opening(token=TOKEN)
    page = client.get("/dashboard")
    assert (page.status_code, page.headers["location"]) == (303, "/dashboard/login")
    assert client.get("/dashboard/verdicts/" + "0" * 32).status_code == 303
    paths = ["live", "events", "verdicts", f"verdicts/{'0' * 32}", f"verdicts/{'0' * 32}/runs/0/0"]
    for path in paths:
        assert client.get(f"/dashboard/api/{path}").status_code == 401
        assert client.get(f"/dashboard/api/{path}", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.post(f"/dashboard/api/verdicts/{'0' * 32}/rejudge", headers={ACTION_HEADER: "1"}).status_code == 401


def test_a_bearer_token_shows_the_data(opening: Opening) -> None:
    client = opening(token="plain-token")
    for scheme in ("Bearer", "bearer"):
        assert client.get("/dashboard/api/live", headers={"Authorization": f"{scheme} plain-token"}).status_code == 200
    for wrong in ("Basic plain-token", "plain-token", "Bearer plain-token2", "Bearer ", "Bearer plain-toke"):
        assert client.get("/dashboard/api/live", headers={"Authorization": wrong}).status_code == 401


def test_the_form_gives_a_cookie_that_opens_the_dashboard_alone(opening: Opening) -> None:
    client = opening(token=TOKEN)
    assert "That is not the token" not in client.get("/dashboard/login").text
    wrong = client.post("/dashboard/login", data={"token": TOKEN + "x"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    assert "That is not the token" in wrong.text
    right = client.post("/dashboard/login", data={"token": TOKEN})
    assert (right.status_code, right.headers["location"]) == (303, "/dashboard")
    cookie = right.headers["set-cookie"]
    for part in ("HttpOnly", "SameSite=strict", "Path=/dashboard", f"Max-Age={LIFE_S}"):
        assert part in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert client.get("/dashboard").status_code == 200
    assert client.get("/dashboard/api/live").status_code == 200
    assert client.get("/dashboard/login").status_code == 303
    assert client.post("/verify", json={}).status_code == 401  # the cookie is no bearer token
    left = client.post("/dashboard/logout")
    assert left.status_code == 303
    assert client.get("/dashboard/api/live").status_code == 401


def test_over_https_the_cookie_is_secure(opening: Opening) -> None:
    client = opening(token=TOKEN)
    client.base_url = httpx.URL("https://testserver")
    assert "Secure" in client.post("/dashboard/login", data={"token": TOKEN}).headers["set-cookie"]


def test_a_cookie_ends_and_can_not_be_made_or_stretched(opening: Opening) -> None:
    clock = [1_000_000.0]
    door, other = OperatorAuth("one", 1, clock=lambda: clock[0]), OperatorAuth("two", 1, clock=lambda: clock[0])
    client = opening(token="one")
    client.post("/dashboard/login", data={"token": "one"})
    (name,) = [cookie for cookie in client.cookies if cookie.startswith("sandbox_gym_dashboard")]
    value = client.cookies[name]
    expires, nonce, mac = value.strip('"').split(".")
    forged = [
        f"{int(expires) + 1}.{nonce}.{mac}",
        f"{expires}.{nonce}.",
        f"{expires}.{nonce}.{'0' * 64}",
        "..",
        "",
        "x" * 5000,
        f"{expires}.{nonce}.é",
        f"٣.{nonce}.{mac}",
    ]
    for each in forged:
        client.cookies.clear()
        cookie = {b"Cookie": f"{name}={each}".encode()}
        assert client.get("/dashboard/api/live", headers=cookie).status_code == 401, each
    assert client.get("/dashboard/api/live", headers={"Cookie": f"{name}={value}"}).status_code == 200
    assert door._is_pass(value)
    assert not other._is_pass(value)
    clock[0] = int(expires) + 1.0
    assert not door._is_pass(value)


def test_the_dashboard_may_have_a_token_of_its_own(opening: Opening) -> None:
    client = opening(token="clients", dashboard_token="operators")
    assert client.get("/dashboard/api/live", headers={"Authorization": "Bearer clients"}).status_code == 401
    assert client.get("/dashboard/api/live", headers={"Authorization": "Bearer operators"}).status_code == 200
    assert client.get("/reverify_mode", headers={"Authorization": "Bearer operators"}).status_code == 401


def test_without_a_token_it_is_open_to_addresses_and_shut_to_names_of_sites(opening: Opening) -> None:
    client = opening()
    for host in ("127.0.0.1:8080", "localhost", "[::1]:8080"):
        assert client.get("/dashboard/api/live", headers={"Host": host}).status_code == 200
    for host in ("rebound.example", "rebound.example:8080", "127.0.0.1.example", "coding:8080", "[::1", "]::["):
        for path in ("", "/api/live", "/login", "/api/events"):
            assert client.get(f"/dashboard{path}", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    ("fields", "shut"),
    [
        ({"host": "0.0.0.0", "allow_unauthenticated": True}, True),
        ({"host": "0.0.0.0", "token": "t"}, False),
        ({"host": "0.0.0.0", "allow_unauthenticated": True, "dashboard_token": "d"}, False),
        ({"host": "127.0.0.1"}, False),
        ({"host": "::1"}, False),
    ],
)
def test_a_server_that_asks_nobody_shows_nobody(opening: Opening, fields: dict[str, object], shut: bool) -> None:
    assert bool(operator_auth_of(Settings.from_flat(fields)).closed) is shut
    client = opening(**fields)
    answer = client.get("/dashboard", headers={"Authorization": "Bearer "})
    assert (answer.status_code == 403) is shut
    if shut:
        assert "SANDBOX_GYM_DASHBOARD_TOKEN" in answer.json()["detail"]
        assert client.post("/dashboard/login", data={"token": ""}).status_code == 403


def test_it_can_be_left_out(opening: Opening) -> None:
    client = opening(dashboard_enabled=False)
    assert client.get("/dashboard").status_code == 404
    verify(client, 1)


def test_an_open_bind_still_needs_its_flag() -> None:
    settings = Settings.from_flat({"host": "0.0.0.0", "dashboard_token": "d"})
    with pytest.raises(ConfigurationError):
        build_app(EchoResources(), lambda: fake_engine(FakeProvider(exits_as_told)), settings)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {ACTION_HEADER: "1", "Origin": "http://evil.example"},
        {ACTION_HEADER: "1", "Origin": "null"},
        {ACTION_HEADER: "1", "Sec-Fetch-Site": "cross-site"},
        {ACTION_HEADER: "1", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost"},
    ],
)
def test_pages_of_other_sites_change_nothing(opening: Opening, headers: dict[str, str]) -> None:
    client = opening()
    verdict_id = verify(client, 1)
    assert rejudge(client, verdict_id, headers or {"X-Other": "1"}).status_code == 403
    own = {ACTION_HEADER: "1", "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    assert rejudge(client, verdict_id, own).status_code == 200


def test_other_sites_do_not_log_anybody_in_or_out(opening: Opening) -> None:
    client = opening(token=TOKEN)
    foreign = {"Origin": "http://evil.example"}
    assert client.post("/dashboard/login", data={"token": TOKEN}, headers=foreign).status_code == 403
    assert client.post("/dashboard/logout", headers=foreign).status_code == 403


def test_a_forms_body_is_bounded(opening: Opening) -> None:
    client = opening(token=TOKEN)
    assert client.post("/dashboard/login", data={"token": "x" * 10_000}).status_code == 413
    assert client.post("/dashboard/login", content=b"&".join([b"a=1"] * 100)).status_code == 401


# -- what pages may do


@pytest.mark.parametrize(
    "path",
    ["/dashboard", "/dashboard/login", "/dashboard/static/dashboard.js", "/dashboard/api/live", "/dashboard/nothing"],
)
def test_every_answer_carries_the_strict_policy(opening: Opening, path: str) -> None:
    headers = opening(token=TOKEN).get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for part in (
        "script-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
    ):
        assert part in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert ("no-store" in headers.get("cache-control", "")) is ("/static/" not in path)


@pytest.mark.parametrize("page", ["index.html", "verdict.html", "login.html"])
def test_pages_hold_no_inline_script_style_or_handler(page: str) -> None:
    text = (Path(events.__file__).parent / "static" / page).read_text("utf-8")
    assert not re.search(r"<script(?![^>]*\ssrc=)", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", text)
    assert not re.search(r"(src|href)=\"(?!/dashboard|#)", text)


def test_scripts_parse_no_html_and_load_nothing_from_elsewhere() -> None:
    for path in (Path(events.__file__).parent / "static").glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            path
        )
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), path


@pytest.mark.parametrize("path", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", ""])
def test_only_static_files_are_served(opening: Opening, path: str) -> None:
    assert opening().get(f"/dashboard/static/{path}").status_code == 404


def test_the_nemo_gym_cookie_is_not_set_by_the_dashboard(opening: Opening) -> None:
    client = opening()
    assert "set-cookie" not in client.get("/dashboard").headers
    assert "set-cookie" in client.get("/").headers
