"""One tenant can't see, reach or hold up another's: eighty requests that try, and quotas."""

from __future__ import annotations

import http.client
import json
import socket
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from e2b import RateLimitException, Sandbox
from e2b.exceptions import AuthenticationException, SandboxException, SandboxNotFoundException

from sandbox_gym.e2b_server.access import signature
from tests.e2b.servers import KEYS, PoolServer

pytestmark = pytest.mark.timeout(120)
SECRET = "alice's secret"


@dataclass(frozen=True)
class Attempt:
    """One request of bob's that wants something of alice's, or more than he may. `{id}` and `{bob}` are sandboxes,
    `{signed}` the signature of bob's own file, `{given}` that of the one file of alice's which she gave him a URL of,
    `{token}` bob's own sandbox's, `{snapshot}` and `{own}` snapshots of each."""

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
OWN = {"E2b-Sandbox-Id": "{bob}", "E2b-Sandbox-Port": "49983"}
KNOWN = {"X-Access-Token": "{token}"}
AS_ROOT = {"X-Access-Token": "{token}", "Authorization": "Basic cm9vdDo="}
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
    Attempt("fork by the other path", "POST", "/v2/sandboxes/{id}/fork", BOB, "{}"),
    Attempt("snapshot by the other path", "POST", "/v2/sandboxes/{id}/snapshots", BOB, "{}"),
    Attempt("pause by the other path", "POST", "/v2/sandboxes/{id}/pause", BOB, '{"memory": false}'),
    Attempt("network rules", "PUT", "/sandboxes/{id}/network", BOB, "{}"),
    Attempt("info through one's own", "GET", "/sandboxes/{bob}/{id}", BOB),
    Attempt("a doubled slash", "GET", "/sandboxes//{id}", BOB),
    # snapshots
    Attempt("delete a snapshot by name", "DELETE", "/templates/alices", BOB),
    Attempt("a snapshot's name with its tag", "POST", "/v2/sandboxes", BOB, '{"templateID": "alices:default"}'),
    Attempt("root of another's snapshot", "POST", "/v2/sandboxes", BOB, '{"templateID": "{snapshot}:root"}'),
    Attempt("root of another's named snapshot", "POST", "/v2/sandboxes", BOB, '{"templateID": "alices:root"}'),
    Attempt("a path to a snapshot", "POST", "/v2/sandboxes", BOB, '{"templateID": "python/../{snapshot}"}'),
    Attempt("an image's tag", "POST", "/v2/sandboxes", BOB, '{"templateID": "snapshot:{snapshot}"}'),
    Attempt("somebody's image", "POST", "/v2/sandboxes", BOB, '{"templateID": "debian:bookworm-slim"}'),
    Attempt("a path as a template", "DELETE", "/templates/..%2fsandboxes%2f{id}", BOB),
    # root
    Attempt("root", "POST", "/v2/sandboxes", BOB, '{"templateID": "base:root"}'),
    Attempt("root without a name", "POST", "/v2/sandboxes", BOB, '{"templateID": ":root"}'),
    Attempt("root twice", "POST", "/v2/sandboxes", BOB, '{"templateID": "base:root:root"}'),
    Attempt("root of one's own snapshot", "POST", "/v2/sandboxes", BOB, '{"templateID": "{own}:root"}'),
    Attempt("root of an old client", "POST", "/sandboxes", BOB, '{"templateID": "python:root"}'),
    Attempt("files as root", "GET", "/files?path=secret&username=root", {**OWN, "X-Access-Token": "{token}"}),
    Attempt("stat as root", "POST", "/filesystem.Filesystem/Stat", {**OWN, **AS_ROOT, **JSON}, STAT),
    Attempt("processes as root", "POST", "/process.Process/List", {**OWN, **AS_ROOT, **JSON}, "{}"),
    Attempt("an environment as root", "GET", "/envs", {**OWN, **AS_ROOT}),
    # signed URLs: good for one file and one use
    Attempt("a signature for another file", "GET", "/files?path=/etc/passwd&signature={given}", ROUTE),
    Attempt("a signature for the same file by another name", "GET", "/files?path=./secret&signature={given}", ROUTE),
    Attempt("a signature to read, for writing", "POST", "/files?path=secret&signature={given}", ROUTE, "x"),
    Attempt("a signature for another user", "GET", "/files?path=secret&username=root&signature={given}", ROUTE),
    Attempt("a signature that is over", "GET", "/files?path=secret&signature={over}&signature_expiration=1", ROUTE),
    Attempt("one made to last", "GET", "/files?path=secret&signature={over}&signature_expiration=9999999999", ROUTE),
    Attempt("an end that is none", "GET", "/files?path=secret&signature={over}&signature_expiration=1e99", ROUTE),
    Attempt("a signature twice", "GET", "/files?path=secret&signature=v1_x&signature=v1_y", ROUTE),
    Attempt("a signature beside a wrong token", "GET", "/files?path=secret&signature=v1_x", MINE),
    Attempt("a signature for calls", "POST", "/filesystem.Filesystem/Stat?signature={given}", {**ROUTE, **JSON}, STAT),
    Attempt("a signature where no sandbox is named", "GET", "/files?path=secret&{signed}x"),
    # headers
    Attempt("two ids in one header", "GET", "/files?path=secret", {**MINE, "E2b-Sandbox-Id": "{bob}, {id}"}),
    Attempt("a host in other letters", "GET", "/files?path=secret", {**KNOWN, "Host": "49983-{ID}.EXAMPLE"}),
    Attempt("a host with a user", "GET", "/files?path=secret", {**KNOWN, "Host": "x@49983-{id}.example"}),
    Attempt("a forwarded host", "GET", "/sandboxes/{id}", {**BOB, "X-Forwarded-Host": "49983-{id}.example"}),
    Attempt("a method in a header", "GET", "/sandboxes/{id}", {**BOB, "X-HTTP-Method-Override": "DELETE"}),
    Attempt("a tenant in a header", "GET", "/sandboxes/{id}", {**BOB, "X-Sandbox-Gym-Tenant": "alice"}),
    Attempt("a key as a bearer's beside one's own", "GET", "/sandboxes/{id}", {**BOB, "Authorization": "Bearer {id}"}),
    Attempt("a token of traffic for files", "GET", "/files?path=secret", {**ROUTE, "X-Access-Token": "{traffic}"}),
    Attempt("a port above all", "GET", "/files?path=secret", {**MINE, "E2b-Sandbox-Port": "115519"}),
    Attempt("a port with a sign", "GET", "/files?path=secret", {**MINE, "E2b-Sandbox-Port": "+49983"}),
]  # fmt: skip


@dataclass(frozen=True)
class Parties:
    alice: Sandbox
    bob: Sandbox
    snapshot: str
    own: str


@pytest.fixture(scope="module")
def parties(pool: PoolServer) -> Iterator[Parties]:
    alice = Sandbox.create(timeout=300, network={"allow_public_traffic": False}, **pool.where("alice"))
    bob = Sandbox.create(timeout=300, **pool.where("bob"))
    alice.files.write("secret", SECRET)
    bob.files.write("secret", "bob's")
    alice.commands.run("python3 -m http.server 8000", background=True).disconnect()
    alice.commands.run("until (echo > /dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done", timeout=30)
    snapshot, own = alice.create_snapshot(name="alices").snapshot_id, bob.create_snapshot().snapshot_id
    yield Parties(alice, bob, snapshot, own)
    for name in ("alice", "bob"):
        for one in Sandbox.list_snapshots(**pool.where(name)).next_items():
            Sandbox.delete_snapshot(one.snapshot_id, **pool.where(name))
    alice.kill()
    bob.kill()


def names_of(parties: Parties) -> dict[str, str]:
    """What the attempts' words in braces stand for."""

    def signed(sandbox: Sandbox) -> str:
        query = urllib.parse.urlsplit(sandbox.download_url("secret")).query
        return urllib.parse.quote(urllib.parse.parse_qs(query)["signature"][0])

    over = signature("secret", "read", "", str(parties.alice._envd_access_token), "1")
    return {
        "{id}": parties.alice.sandbox_id,
        "{ID}": parties.alice.sandbox_id.upper(),
        "{bob}": parties.bob.sandbox_id,
        "{token}": str(parties.bob._envd_access_token),
        "{traffic}": str(parties.alice.traffic_access_token),
        "{snapshot}": parties.snapshot,
        "{own}": parties.own,
        "{signed}": "signature=" + signed(parties.bob),
        "{given}": signed(parties.alice),
        "{over}": urllib.parse.quote(over),
    }


@pytest.mark.parametrize("attempt", TRY, ids=[attempt.name for attempt in TRY])
def test_refused(pool: PoolServer, parties: Parties, attempt: Attempt) -> None:
    def filled(text: str) -> str:
        for name, value in names_of(parties).items():
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
    assert reply.status in (400, 401, 403, 404, 502), body
    assert json.loads(body)["message"]
    assert SECRET not in body
    assert parties.alice.files.read("secret") == SECRET
    assert parties.alice.is_running()


FILE = "GET /files?path=secret HTTP/1.1\r\n"
TOKEN = "X-Access-Token: {token}\r\n"
SMUGGLED = {
    "two ids": FILE + "Host: localhost\r\nE2b-Sandbox-Id: {bob}\r\nE2b-Sandbox-Id: {id}\r\n" + TOKEN,
    "two ports": (
        FILE + "Host: localhost\r\nE2b-Sandbox-Id: {id}\r\nE2b-Sandbox-Port: 49983\r\nE2b-Sandbox-Port: 8000\r\n"
    ),
    "two hosts": FILE + "Host: 49983-{bob}.example\r\nHost: 49983-{id}.example\r\n" + TOKEN,
    "two tokens": FILE + "Host: localhost\r\nE2b-Sandbox-Id: {id}\r\n" + TOKEN + "X-Access-Token: {id}\r\n",
    "two keys": "GET /sandboxes/{id} HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: {key}\r\nX-API-KEY: {id}\r\n",
    "a folded header": FILE + "Host: localhost\r\nE2b-Sandbox-Id:\r\n {id}\r\n" + TOKEN,
    "a space before the colon": FILE + "Host: localhost\r\nE2b-Sandbox-Id : {id}\r\n" + TOKEN,
    "a bare newline": FILE + "Host: localhost\r\nX-A: b\nE2b-Sandbox-Id: {id}\r\n" + TOKEN,
    "a whole URL": "GET http://49983-{id}.example/files?path=secret HTTP/1.1\r\nHost: localhost\r\n" + TOKEN,
    "two lengths": (
        "POST /sandboxes/{id}/timeout HTTP/1.1\r\nHost: localhost\r\nX-API-KEY: {key}\r\n"
        "Content-Length: 2\r\nContent-Length: 90\r\n"
    ),
    "a length and chunks": (
        "POST /files?path=secret HTTP/1.1\r\nHost: 49983-{bob}.example\r\nX-Access-Token: x\r\n"
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SMUGGLED)
def test_requests_that_say_two_things_are_refused(pool: PoolServer, parties: Parties, name: str) -> None:
    text = SMUGGLED[name].replace("{key}", KEYS["bob"])
    for word, value in names_of(parties).items():
        text = text.replace(word, value)
    with socket.create_connection(("127.0.0.1", pool.port), 30) as connection:
        connection.sendall(f"{text}Connection: close\r\n\r\n".encode())
        connection.settimeout(30)
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    assert reply.split(b" ", 2)[1] in (b"400", b"401", b"404"), reply
    assert SECRET.encode() not in reply
    assert reply.count(b"HTTP/1.1") == 1, "one request, one answer"
    assert parties.alice.is_running()
    assert parties.alice.files.read("secret") == SECRET


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

    assert get({}) == 403
    assert get({"E2b-Traffic-Access-Token": str(parties.bob.traffic_access_token)}) == 403
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
