"""Who has this machine's network in sandboxes: tenants that may, and only where they want it."""

from __future__ import annotations

import http.client
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2b import Sandbox, SandboxException, Template

from tests.e2b.servers import KEYS, PoolServer

pytestmark = pytest.mark.timeout(120)
TENANTS = f"""
[tenants.alice]
keys = ["{KEYS["alice"]}"]
network = true
creates_per_s = 100

[tenants.bob]
keys = ["{KEYS["bob"]}"]
root = true
creates_per_s = 100
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    running = PoolServer("local", tmp_path_factory.mktemp("pool"), "--network", keys=TENANTS)
    yield running
    running.stop()


def reaches(sandbox: Sandbox, port: int) -> bool:
    """Whether something of this machine, outside of the sandbox, is there."""
    code = f'import socket; socket.create_connection(("127.0.0.1", {port}), 2)'
    return sandbox.commands.run(f"python3 -c '{code}' 2>/dev/null && echo yes || echo no").stdout == "yes\n"


@pytest.mark.parametrize(
    ("tenant", "wishes", "granted"),
    [
        ("alice", {}, True),
        ("alice", {"allow_internet_access": True}, True),
        ("alice", {"allow_internet_access": False}, False),
        ("alice", {"network": {"deny_out": ["0.0.0.0/0"]}}, False),
        ("bob", {}, False),
        ("bob", {"allow_internet_access": True}, False),
        ("bob", {"template": "base:root", "allow_internet_access": True}, False),
    ],
)
def test_the_network_is_for_tenants_that_may(
    server: PoolServer, tenant: str, wishes: dict[str, object], granted: bool
) -> None:
    sandbox = Sandbox.create(timeout=60, **wishes, **server.where(tenant))  # type: ignore[arg-type]
    try:
        assert sandbox.get_info().allow_internet_access is granted
        assert reaches(sandbox, server.port) is granted
    finally:
        sandbox.kill()


def test_a_list_is_less_than_the_network(server: PoolServer) -> None:
    """What tests/conformance/test_way_out.py says of lists, for a tenant that may have all: no more than is named."""
    rules = {"allow_out": ["192.0.2.1"], "deny_out": ["0.0.0.0/0"]}
    sandbox = Sandbox.create(timeout=60, network=rules, **server.where("alice"))  # type: ignore[arg-type]
    assert sandbox.get_info().allow_internet_access is True
    assert not reaches(sandbox, server.port)
    sandbox.kill()


def test_its_client_is_told_what_it_asked_to_deny(server: PoolServer) -> None:
    denied = ["8.8.8.8", "10.0.0.0/8"]
    sandbox = Sandbox.create(timeout=60, network={"deny_out": denied}, **server.where("bob"))
    [fork] = sandbox.fork()
    assert isinstance(fork, Sandbox)
    sandbox.pause()
    for one in (sandbox, fork):
        info = one.get_info()
        assert (info.network, info.allow_internet_access) == ({"allow_public_traffic": True, "deny_out": denied}, False)
    sandbox.kill()
    fork.kill()
    with pytest.raises(SandboxException, match=r"'example\.com' is no address and no CIDR block"):
        Sandbox.create(network={"deny_out": ["1.1.1.1", "example.com"]}, **server.where("bob"))
    with pytest.raises(SandboxException, match="denyOut"):
        Sandbox.create(network={"deny_out": ["1.1.1.1"] * 1001}, **server.where("bob"))


def test_it_stays_with_a_sandbox_and_what_comes_of_it(server: PoolServer) -> None:
    where = server.where("alice")
    sandbox = Sandbox.create(timeout=60, **where)
    sandbox.pause()
    sandbox = Sandbox.connect(sandbox.sandbox_id, timeout=60, **where)
    assert reaches(sandbox, server.port)
    [fork] = sandbox.fork()
    assert isinstance(fork, Sandbox)
    assert reaches(fork, server.port)
    closed = Sandbox.create(sandbox.create_snapshot().snapshot_id, timeout=60, allow_internet_access=False, **where)
    assert not reaches(closed, server.port)
    for one in (sandbox, fork, closed):
        one.kill()


def test_what_listens_on_the_machine_is_not_for_everybody(server: PoolServer) -> None:
    """With the machine's network a sandbox's port 127.0.0.1:N is the machine's: only its tenant gets there."""
    sandbox = Sandbox.create(timeout=60, **server.where("alice"))
    listening = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=listening.serve_forever, daemon=True).start()

    def get(headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        host = f"{listening.server_port}-{sandbox.sandbox_id}.example"
        connection.request("HEAD", "/", headers={"Host": host, **headers})
        status = connection.getresponse().status
        connection.close()
        return status

    assert get({}) == 403
    assert get({"E2b-Traffic-Access-Token": "no"}) == 403
    assert get({"E2b-Traffic-Access-Token": str(sandbox.traffic_access_token)}) == 200
    listening.shutdown()
    listening.server_close()
    sandbox.kill()


def test_a_pool_of_one_grants_it_only_when_told(tmp_path: Path) -> None:
    server = PoolServer("local", tmp_path, keys="")
    try:
        sandbox = Sandbox.create(timeout=60, **server.where("alice"))
        assert not reaches(sandbox, server.port)
        sandbox.kill()
    finally:
        server.stop()


def test_ports_are_told_the_host_that_was_asked_for(server: PoolServer) -> None:
    where = server.where("bob")
    network = {"mask_request_host": "masked.example:${PORT}"}
    sandbox = Sandbox.create(timeout=60, network=network, **where)  # type: ignore[arg-type]
    assert sandbox.get_info().network == {"allow_public_traffic": True, "mask_request_host": "masked.example:${PORT}"}
    answer = (
        "import http.server as h; n=type('H', (h.BaseHTTPRequestHandler,), {'do_GET': lambda s: (s.send_response(200), "
    )
    answer += "s.end_headers(), s.wfile.write(str(s.headers).encode()))}); h.HTTPServer(('', 8080), n).serve_forever()"
    sandbox.commands.run(f'python3 -c "{answer}"', background=True).disconnect()
    sandbox.commands.run(
        "for _ in $(seq 100); do (echo > /dev/tcp/127.0.0.1/8080) 2>/dev/null && break; sleep 0.1; done"
    )
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/", headers={"Host": f"8080-{sandbox.sandbox_id}.example"})
    assert b"Host: masked.example:8080\n" in connection.getresponse().read(), "in the case in which clients write it"
    connection.close()
    sandbox.kill()
    with pytest.raises(SandboxException, match="maskRequestHost"):
        Sandbox.create(network={"mask_request_host": "a\r\nX-B: c"}, **where)


def test_rules_of_a_running_sandbox_are_what_it_has_already_or_refused(server: PoolServer) -> None:
    closed, opened = (
        Sandbox.create(timeout=60, **server.where("bob")),
        Sandbox.create(timeout=60, **server.where("alice")),
    )
    closed.update_network({"deny_out": ["0.0.0.0/0"]})
    assert closed.get_info().network == {"allow_public_traffic": True, "deny_out": ["0.0.0.0/0"]}
    closed.update_network({})
    assert closed.get_info().network == {"allow_public_traffic": True}
    for sandbox, rules in ((closed, {"allow_out": ["1.1.1.1"]}), (opened, {"deny_out": ["0.0.0.0/0"]})):
        with pytest.raises(SandboxException, match="created with"):
            sandbox.update_network(rules)  # type: ignore[arg-type]
    closed.kill()
    opened.kill()


def test_templates_that_are_there(server: PoolServer) -> None:
    where = server.where("alice")
    sandbox = Sandbox.create(timeout=60, **where)
    sandbox.create_snapshot(name="alices-own")
    there = {name: Template.exists(name, **where) for name in ("base", "python", "alices-own", "nonesuch", "../x")}
    assert there == {"base": True, "python": True, "alices-own": True, "nonesuch": False, "../x": False}
    assert not Template.exists("alices-own", **server.where("bob"))
    sandbox.kill()
