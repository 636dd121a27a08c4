"""A page of another site in a real Chromium, of another origin and with a name that resolves to this machine: it can
neither read nor cause anything on any server without a token. A server that takes everything shows what the page does.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import httpx2 as httpx
import pytest
from playwright.sync_api import Browser, Response, Route, sync_playwright

from tests.browser.conftest import chromium
from tests.e2b.servers import PoolServer
from tests.load.servers import ServerProcess, free_port
from tests.server.fakes import verify_body

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PAGE: Final = Path(__file__).with_name("attack.html").read_text("utf-8")
NAMES: Final = ("evil.example", "sandbox.evil.example", "8000-i0123456789abcdefghij.evil.example")
REFUSED: Final = {421, 403, 415}
WAYS: Final = {
    *("no-cors", "untyped", "no-referrer", "preflighted", "beacon", "form", "get", "get-no-cors", "get-keyed"),
    *("img", "script", "link", "audio", "embed", "object", "iframe", "events", "socket"),
}


@dataclass(frozen=True)
class Target:
    """A server, what the page tries there, and what tells that something happened."""

    url: str
    gets: tuple[str, ...]
    posts: tuple[tuple[str, str], ...]
    journal: Path | None = None

    def traces(self) -> dict[str, object]:
        """Counters of what was done, by name, and what is on record."""
        if self.journal is None:
            return {"sandboxes": httpx.get(f"{self.url}/v2/sandboxes", headers={"X-API-KEY": "any"}).json()}
        lines = httpx.get(f"{self.url}/metrics").text.splitlines()
        counted = [line for line in lines if line.startswith("sandbox_gym_") and "_created" not in line]
        timed = ("loop_lag", "phase_seconds", "_seconds", "pool_", "cgroup")
        steady = [line.rpartition(" ") for line in counted if not any(word in line for word in timed)]
        found: dict[str, object] = {name: count for name, _, count in steady}
        with closing(sqlite3.connect(self.journal)) as journal:
            found["records"] = journal.execute("SELECT count(*) FROM journal_verdicts").fetchone()[0]
        return found


def verify(**row: object) -> str:
    return json.dumps(verify_body("```python\nprint(2)\n```\n\\boxed{2}", **row))


CODING: Final = verify(verifier_metadata={"unit_tests": {"inputs": ["1"], "outputs": ["2"]}})
MATH: Final = verify(expected_answer="2", question="1 + 1")
SESSION: Final = '{"resources_session_id": "s1", "task_data": {}}'
INITIALIZE: Final = json.dumps(
    {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
    }
)  # fmt: skip
GETS: Final = (
    "/",
    "/health",
    "/metrics",
    "/openapi.json",
    "/dashboard",
    "/dashboard/api/live",
    "/dashboard/api/verdicts",
)
POSTS: Final = {
    "coding": (
        ("/verify", CODING), ("/run_code", '{"language": "python", "code": "1"}'), ("/bash", '{"command": "id"}'),
        ("/seed_session", SESSION), ("/close_session", '{"resources_session_id": "s1"}'), ("/mcp", INITIALIZE),
        ("/dashboard/logout", "{}"),
    ),
    "math": (("/verify", MATH), ("/execute_python", '{"code": "1"}'), ("/seed_session", SESSION)),
    "swe": (("/bash", '{"command": "id"}'), ("/seed_session", SESSION), ("/verify", CODING)),
}  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Every name below evil.example is this machine, as after a rebinding."""
    rules = "MAP evil.example 127.0.0.1, MAP *.evil.example 127.0.0.1"
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", f"--host-resolver-rules={rules}"]
        arguments.append("--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests")
        launched = playwright.chromium.launch(executable_path=chromium(), args=arguments)
        yield launched
        launched.close()


class Victim:
    """A server that takes everything and lets everybody read it: what reaches it shows which ways the page has."""

    def __init__(self) -> None:
        seen = self.seen = list[tuple[str, str, str]]()

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                self.rfile.read(length)
                way = self.path.rpartition("by=")[2]
                seen.append((self.command, way, self.headers.get("Content-Type", "")))
                self.send_response(200)
                self.send_header("Access-Control-Allow-Origin", self.headers.get("Origin", "*"))
                self.send_header("Access-Control-Allow-Headers", "content-type, x-api-key, x-sandbox-gym-dashboard")
                self.send_header("Access-Control-Allow-Credentials", "true")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            do_GET = do_POST = do_OPTIONS = answer

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def target(self) -> Target:
        return Target(f"http://127.0.0.1:{self.server.server_port}", ("/", "/metrics"), (("/verify", CODING),))


def attacked(
    browser: Browser, at: str, base: str, target: Target
) -> tuple[list[dict[str, Any]], list[tuple[str, int]]]:
    """What a page at `at` could read of `base`, and every answer that it got from there: (URL, status)."""
    context = browser.new_context()
    page = context.new_page()
    answers: list[tuple[str, int]] = []

    def note(response: Response) -> None:
        if "by=" in response.url and response.status < 600:
            answers.append((response.url, response.status))

    def serve(route: Route) -> None:
        route.fulfill(body=PAGE, content_type="text/html")

    page.on("response", note)
    page.route(f"{at}/attack.html", serve)  # as the attacker's own server gave it, before its name was bound anew
    page.goto(f"{at}/attack.html")
    read = page.evaluate(
        "([base, gets, posts]) => attack(base, gets, posts)",
        [base, list(target.gets), [list(one) for one in target.posts]],
    )
    context.close()
    return read, answers


def origins(target: Target, names: Sequence[str]) -> list[tuple[str, str]]:
    """(where the page is from, what it asks): other origins, and names that were bound anew."""
    port = target.url.rpartition(":")[2]
    other = f"http://evil.example:{free_port()}"
    crossing = [(other, target.url), (f"http://localhost:{free_port()}", f"http://localhost:{port}")]
    return [*crossing, *((f"http://{name}:{port}", f"http://{name}:{port}") for name in names)]


def check(browser: Browser, target: Target, *names: str) -> None:
    """Nothing is read and nothing caused, by a page elsewhere and by one at each of the names, bound anew."""
    before = target.traces()
    for at, base in origins(target, names):
        read, answers = attacked(browser, at, base, target)
        rebound = at == base
        got = [one for one in read if 0 < one["status"] < 400]
        assert got == [], (at, got)
        told = [one["text"] for one in read if one.get("text")]
        assert all("not this server's" in text for text in told), (at, told)
        assert bool(told) is rebound  # then it may read, and what it reads is the refusal
        assert answers, at
        assert {status for _, status in answers} <= REFUSED, (at, [one for one in answers if one[1] not in REFUSED])
    assert target.traces() == before


def test_the_page_has_all_those_ways_where_a_server_takes_them(browser: Browser) -> None:
    victim = Victim()
    target = victim.target()
    read, _ = attacked(browser, f"http://evil.example:{free_port()}", target.url, target)
    assert {way for _, way, _ in victim.seen} == WAYS
    assert {one["status"] for one in read if one["way"] in ("get", "preflighted")} == {200}
    types = {kind.partition(";")[0] for method, _, kind in victim.seen if method == "POST"}
    assert types >= {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json"}
    victim.server.shutdown()
    victim.server.server_close()


LONG: Final = pytest.mark.extended  # their routes stand behind the same guard, as test_request_guard.py walks them


@pytest.mark.parametrize(
    ("server", "provider"),
    [("coding", "local"), pytest.param("math", "fake", marks=LONG), pytest.param("swe", "fake", marks=LONG)],
)
def test_a_resources_server(browser: Browser, tmp_path: Path, server: str, provider: str) -> None:
    settings: Mapping[str, str] = {"SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP": "true", "SANDBOX_GYM_BOXES": "2"}
    with ServerProcess(provider, tmp_path, settings=settings, server=server) as process:
        gets = GETS if server == "coding" else GETS[:3]
        target = Target(process.url, gets, POSTS[server], tmp_path / "state" / "journal.sqlite")
        check(browser, target, NAMES[0])
        if server == "coding":  # what a program asks in the same words is done, and shows where the test looks
            before = target.traces()
            asked = httpx.post(f"{process.url}/verify", content=CODING, headers=JSON, timeout=60)
            assert (asked.status_code, asked.json()["reward"]) == (200, 1.0)
            shell = httpx.post(f"{process.url}/bash", content='{"command": "id"}', headers=JSON, timeout=60)
            assert shell.status_code == 200
            assert target.traces() != before


JSON: Final = {"Content-Type": "application/json"}
SANDBOX: Final = '{"templateID": "base", "timeout": 60, "allow_internet_access": true}'
POOL: Final[Sequence[tuple[str, str]]] = (
    *(("/sandboxes", SANDBOX), ("/v2/sandboxes", SANDBOX), ("/files?path=a", "x"), ("/process.Process/List", "{}")),
    *(("/dashboard/logout", "{}"), ("/sandboxes/i0123456789abcdefghij/timeout", '{"timeout": 0}')),
)


def test_a_pool_with_the_machines_network(browser: Browser, tmp_path: Path) -> None:
    pool = PoolServer("local", tmp_path, "--network", keys="")
    try:
        target = Target(pool.url, ("/health", "/v2/sandboxes", "/dashboard", "/dashboard/api/live"), tuple(POOL))
        check(browser, target, *NAMES[1:])
        assert "sandbox_created" not in pool.log()
        made = httpx.post(f"{pool.url}/sandboxes", content=SANDBOX, headers={**JSON, "X-API-KEY": "any"}, timeout=60)
        assert made.status_code == 201, made.text
        assert target.traces() != {"sandboxes": []}
        assert "sandbox_created" in pool.log()
    finally:
        pool.stop()
