"""One tenant can't see, reach or hold up another's: forty requests that try, and quotas."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from e2b import RateLimitException, Sandbox
from e2b.exceptions import AuthenticationException, SandboxException, SandboxNotFoundException

from tests.e2b.servers import KEYS, PoolServer

pytestmark = pytest.mark.timeout(120)
SECRET = "alice's secret"


@dataclass(frozen=True)
class Attempt:
    """One request of bob's that wants something of alice's. `{id}` and `{bob}` are sandboxes, `{path}` a signed URL's
    query, `{token}` bob's own sandbox's."""

    name: str
    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""


BOB = {"X-API-KEY": KEYS["bob"]}
ROUTE = {"E2b-Sandbox-Id": "{id}", "E2b-Sandbox-Port": "49983"}
MINE = {**ROUTE, "X-Access-Token": "{token}"}
JSON = {"Content-Type": "application/json"}
STAT = '{"path": "secret"}'
TRY = [
    Attempt("info", "GET", "/sandboxes/{id}", BOB),
    Attempt("kill", "DELETE", "/sandboxes/{id}", BOB),
    Attempt("connect", "POST", "/v2/sandboxes/{id}/connect", BOB, "{}"),
    Attempt("old connect", "POST", "/sandboxes/{id}/connect", BOB, "{}"),
    Attempt("resume", "POST", "/sandboxes/{id}/resume", BOB, "{}"),
    Attempt("timeout", "POST", "/sandboxes/{id}/timeout", BOB, '{"timeout": 0}'),
    Attempt("refresh", "POST", "/sandboxes/{id}/refreshes", BOB, '{"duration": 1}'),
    Attempt("pause", "POST", "/sandboxes/{id}/pause", BOB, "{}"),
    Attempt("metrics", "GET", "/sandboxes/{id}/metrics", BOB),
    Attempt("snapshot", "POST", "/sandboxes/{id}/snapshots", BOB, "{}"),
    Attempt("fork", "POST", "/sandboxes/{id}/fork", BOB, "{}"),
    Attempt("create from a snapshot", "POST", "/v2/sandboxes", BOB, '{"templateID": "{snapshot}"}'),
    Attempt("create from a named snapshot", "POST", "/v2/sandboxes", BOB, '{"templateID": "alices"}'),
    Attempt("delete a snapshot", "DELETE", "/templates/{snapshot}", BOB),
    Attempt("no key", "GET", "/sandboxes/{id}"),
    Attempt("an empty key", "GET", "/sandboxes/{id}", {"X-API-KEY": ""}),
    Attempt("a wrong key", "GET", "/sandboxes/{id}", {"X-API-KEY": KEYS["alice"] + "x"}),
    Attempt("a key's beginning", "GET", "/sandboxes/{id}", {"X-API-KEY": KEYS["alice"][:-1]}),
    Attempt("the id as a key", "GET", "/sandboxes/{id}", {"X-API-KEY": "{id}"}),
    Attempt("an encoded id", "GET", "/sandboxes/%2e%2e%2fsandboxes%2f{id}", BOB),
    Attempt("a path over one's own", "GET", "/sandboxes/{bob}/../{id}", BOB),
    Attempt("read without a token", "GET", "/files?path=secret", ROUTE),
    Attempt("read with another's token", "GET", "/files?path=secret", MINE),
    Attempt("read with a key", "GET", "/files?path=secret", {**ROUTE, **BOB}),
    Attempt("write", "POST", "/files?path=secret", {**MINE, "Content-Type": "application/octet-stream"}, "x"),
    Attempt("another's signature", "GET", "/files?path=secret&{signed}", ROUTE),
    Attempt("a signature of nothing", "GET", "/files?path=secret&signature=v1_", ROUTE),
    Attempt("a later end", "GET", "/files?path=secret&{signed}&signature_expiration=99999999999", ROUTE),
    Attempt("stat", "POST", "/filesystem.Filesystem/Stat", {**MINE, **JSON}, STAT),
    Attempt("list", "POST", "/filesystem.Filesystem/ListDir", {**MINE, **JSON}, '{"path": "."}'),
    Attempt("processes", "POST", "/process.Process/List", {**MINE, **JSON}, "{}"),
    Attempt("envd's environment", "GET", "/envs", MINE),
    Attempt("by host name", "GET", "/files?path=secret", {"Host": "49983-{id}.example", "X-Access-Token": "{token}"}),
    Attempt(
        "host of one's own, header of another's", "GET", "/files?path=secret",
        {**ROUTE, "Host": "49983-{bob}.example", "X-Access-Token": "{token}"},
    ),
    Attempt("a header at a foreign host", "GET", "/files?path=secret", {**MINE, "Host": "example.org"}),
    Attempt("a port that is none", "GET", "/files?path=secret", {**MINE, "E2b-Sandbox-Port": "49983, 49983"}),
    Attempt("run a cell", "POST", "/execute", {**MINE, "E2b-Sandbox-Port": "49999"}, '{"code": "1"}'),
    Attempt("contexts", "GET", "/contexts", {**MINE, "E2b-Sandbox-Port": "49999"}),
    Attempt("a context", "POST", "/contexts", {**ROUTE, "E2b-Sandbox-Port": "49999"}, "{}"),
    Attempt("envd's port through the proxy", "GET", "/files?path=secret", {**ROUTE, "E2b-Sandbox-Port": "049983"}),
    Attempt("a closed door", "GET", "/", {**ROUTE, "E2b-Sandbox-Port": "8000"}),
    Attempt("internal routes", "POST", "/init", MINE, "{}"),
]  # fmt: skip


@dataclass(frozen=True)
class Parties:
    alice: Sandbox
    bob: Sandbox
    snapshot: str


@pytest.fixture(scope="module")
def parties(pool: PoolServer) -> Iterator[Parties]:
    alice = Sandbox.create(timeout=300, network={"allow_public_traffic": False}, **pool.where("alice"))
    bob = Sandbox.create(timeout=300, **pool.where("bob"))
    alice.files.write("secret", SECRET)
    bob.files.write("secret", "bob's")
    alice.commands.run("python3 -m http.server 8000", background=True).disconnect()
    yield Parties(alice, bob, alice.create_snapshot(name="alices").snapshot_id)
    for snapshot in Sandbox.list_snapshots(**pool.where("alice")).next_items():
        Sandbox.delete_snapshot(snapshot.snapshot_id, **pool.where("alice"))
    alice.kill()
    bob.kill()


@pytest.mark.parametrize("attempt", TRY, ids=[attempt.name for attempt in TRY])
def test_refused(pool: PoolServer, parties: Parties, attempt: Attempt) -> None:
    query = urllib.parse.urlsplit(parties.bob.download_url("secret")).query
    names = {
        "{id}": parties.alice.sandbox_id,
        "{bob}": parties.bob.sandbox_id,
        "{token}": str(parties.bob._envd_access_token),
        "{snapshot}": parties.snapshot,
        "{signed}": "signature=" + urllib.parse.parse_qs(query)["signature"][0],
    }

    def filled(text: str) -> str:
        for name, value in names.items():
            text = text.replace(name, value)
        return text

    connection = http.client.HTTPConnection("127.0.0.1", pool.port, timeout=30)
    headers = {name: filled(value) for name, value in attempt.headers.items()}
    connection.request(attempt.method, filled(attempt.path), filled(attempt.body) or None, headers)
    reply = connection.getresponse()
    body = reply.read().decode("utf-8", "replace")
    connection.close()
    if attempt.name == "host of one's own, header of another's":
        assert body == "bob's", "the host decides, and it is bob's own sandbox"
        return
    assert reply.status in (400, 401, 404), body
    assert json.loads(body)["message"]
    assert SECRET not in body
    assert parties.alice.files.read("secret") == SECRET
    assert parties.alice.is_running()


def test_two_headers_that_say_two_things_are_refused(pool: PoolServer, parties: Parties) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", pool.port, timeout=30)
    connection.putrequest("GET", "/files?path=secret")
    connection.putheader("E2b-Sandbox-Id", parties.bob.sandbox_id)
    connection.putheader("E2b-Sandbox-Id", parties.alice.sandbox_id)
    connection.putheader("X-Access-Token", str(parties.bob._envd_access_token))
    connection.endheaders()
    reply = connection.getresponse()
    assert reply.status == 400
    reply.read()
    connection.close()


def test_lists_show_ones_own_only(pool: PoolServer, parties: Parties) -> None:
    listed = {one.sandbox_id for one in Sandbox.list(**pool.where("bob")).next_items()}
    assert parties.bob.sandbox_id in listed
    assert parties.alice.sandbox_id not in listed
    snapshots = Sandbox.list_snapshots(**pool.where("bob")).next_items()
    assert parties.snapshot not in {one.snapshot_id for one in snapshots}


def test_the_sdk_says_so(pool: PoolServer, parties: Parties) -> None:
    with pytest.raises(SandboxNotFoundException):
        Sandbox.connect(parties.alice.sandbox_id, **pool.where("bob"))
    assert not Sandbox.kill(parties.alice.sandbox_id, **pool.where("bob"))
    with pytest.raises(AuthenticationException):
        Sandbox.create(api_key="no-such-key-0123456789", api_url=pool.url, sandbox_url=pool.url)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "/proc/1/root/etc/shadow", "a/../../../etc/hosts"])
def test_paths_lead_nowhere_but_into_the_sandbox(pool: PoolServer, parties: Parties, path: str) -> None:
    """What can be read is what the sandbox's own user can read by a command; nothing of this machine's own files."""
    said = parties.bob.commands.run(f"mkdir -p a; cat '{path}' 2>/dev/null || true").stdout
    try:
        read = parties.bob.files.read(path)
    except SandboxException:
        read = ""
    assert read == said
    assert "SANDBOX_GYM" not in read


def test_what_only_root_may_is_refused_in_a_sandbox(parties: Parties) -> None:
    for path in ("/etc/new", "/usr/bin/new", "/proc/sys/kernel/hostname", "/root/new"):
        with pytest.raises(SandboxException):
            parties.bob.files.write(path, "x")


def test_quotas(pool: PoolServer) -> None:
    where = pool.where("carol")
    one = Sandbox.create(timeout=60, **where)
    two = Sandbox.create(timeout=60, **where)
    try:
        started = time.monotonic()
        with pytest.raises(RateLimitException, match="concurrent"):
            Sandbox.create(timeout=60, **where)
        assert time.monotonic() - started < 10
        with pytest.raises(SandboxException, match="Timeout"):
            one.set_timeout(601)
        snapshot = one.create_snapshot()
        with pytest.raises(RateLimitException, match="snapshots"):
            two.create_snapshot()
        Sandbox.delete_snapshot(snapshot.snapshot_id, **where)
        two.pause()
        Sandbox.create(timeout=60, **where).kill()
    finally:
        one.kill()
        two.kill()


def test_private_traffic_needs_its_token(pool: PoolServer, parties: Parties) -> None:
    def get(headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", pool.port, timeout=30)
        connection.request("GET", "/", headers={"Host": f"8000-{parties.alice.sandbox_id}.example", **headers})
        status = connection.getresponse().status
        connection.close()
        return status

    assert get({}) == 401
    assert get({"E2b-Traffic-Access-Token": str(parties.bob.traffic_access_token)}) == 401
    assert get({"E2b-Traffic-Access-Token": str(parties.alice.traffic_access_token)}) == 200


def test_an_idempotency_key_makes_one_sandbox(pool: PoolServer) -> None:
    where = pool.where("bob")
    one = Sandbox.create(timeout=60, idempotency_key="once-1", **where)
    two = Sandbox.create(timeout=60, idempotency_key="once-1", **where)
    assert one.sandbox_id == two.sandbox_id
    other = Sandbox.create(timeout=60, idempotency_key="once-1", **pool.where("alice"))
    assert other.sandbox_id != one.sandbox_id
    one.kill()
    other.kill()
