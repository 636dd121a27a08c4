"""Whose sandbox a request means, and whether it may: hosts, routing headers, access tokens, signed URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import ipaddress
import re
import time
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from sandbox_gym.sandbox.envd import USER
from sandbox_gym.server.e2b_api.accounts import same
from sandbox_gym.server.e2b_api.faults import Fault
from sandbox_gym.server.e2b_api.sandbox import Sandbox
from sandbox_gym.server.e2b_api.sandboxes import Sandboxes

ENVD_PORT: Final = 49983
INTERPRETER_PORT: Final = 49999
ID_HEADER: Final = "e2b-sandbox-id"
PORT_HEADER: Final = "e2b-sandbox-port"
TOKEN_HEADER: Final = "x-access-token"
TRAFFIC_HEADER: Final = "e2b-traffic-access-token"
_LABEL: Final = re.compile(r"(\d{1,5})-([a-z0-9]{1,63})")


@dataclass(frozen=True, slots=True)
class Target:
    """A port of a sandbox, which may not be there."""

    sandbox_id: str
    port: int


def target_of(request: Request) -> Target | None:
    """What a request is for; None for the control plane. Raises Fault 400 for one that says two things.

    Host `{port}-{id}.domain` decides. Routing headers count only where the host is this server itself: an address,
    localhost, or `sandbox.domain`.
    """
    hosts = request.headers.getlist("host")
    if len(hosts) > 1:
        raise Fault(400, "more than one Host header")
    host = hosts[0].rsplit(":", 1)[0].strip("[]").lower() if hosts else ""
    match = _LABEL.fullmatch(host.split(".", 1)[0])
    if match and "." in host:
        return Target(match.group(2), _port(match.group(1)))
    ids, ports = request.headers.getlist(ID_HEADER), request.headers.getlist(PORT_HEADER)
    if not ids:
        return None
    if len(ids) > 1 or len(ports) > 1:
        raise Fault(400, f"more than one {ID_HEADER} or {PORT_HEADER} header")
    if not _is_own(host):
        raise Fault(400, f"{ID_HEADER} is not taken at host {host[:80]!r}")
    return Target(ids[0], _port(ports[0]) if ports else ENVD_PORT)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise Fault(400, f"{text[:20]!r} is no port")
    return int(text)


def _is_own(host: str) -> bool:
    if host in ("", "localhost") or host.split(".", 1)[0] in ("sandbox", "localhost"):
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." not in host  # a machine's own short name, such as a service's in Compose
    return True


def api_key(request: Request) -> str:
    """The key of a control request: X-API-KEY, or a bearer token. Raises Fault 400 for two."""
    keys = request.headers.getlist("x-api-key")
    if len(keys) > 1:
        raise Fault(400, "more than one X-API-KEY header")
    if keys:
        return keys[0]
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def check_token(request: Request, sandbox: Sandbox) -> None:
    """Raises Fault 401 unless the request carries the sandbox's access token."""
    given = request.headers.getlist(TOKEN_HEADER)
    if len(given) != 1 or not same(given[0], sandbox.kept.token):
        raise Fault(
            401, "unauthorized access: the access token is missing or not this sandbox's", code="unauthenticated"
        )


def check_traffic(request: Request, sandbox: Sandbox) -> None:
    """Raises Fault 403 unless the request carries the sandbox's traffic token, or its access token."""
    traffic, access = request.headers.getlist(TRAFFIC_HEADER), request.headers.getlist(TOKEN_HEADER)
    if len(traffic) == 1 and same(traffic[0], sandbox.kept.traffic_token):
        return
    if len(access) == 1 and same(access[0], sandbox.kept.token):
        return
    raise Fault(403, f"unauthorized access: {TRAFFIC_HEADER} is missing or not this sandbox's", code="unauthenticated")


def user_of(request: Request, sandbox: Sandbox | None = None) -> str:
    """The user that an envd request names. Raises Fault 401 for one that sandboxes have not."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return USER
    try:
        name = base64.b64decode(given.strip(), validate=True).decode("utf-8").partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        raise Fault(401, "the Authorization header is no basic one", code="unauthenticated") from None
    if sandbox is not None and sandbox.root and name == "root":
        return name
    check_user(name)
    return USER


def check_user(name: str) -> None:
    """Raises Fault 401."""
    if name not in ("", USER):
        why = f"invalid username: user {name[:40]!r} does not exist; everything here runs as {USER!r}"
        raise Fault(401, why, code="unauthenticated")


def signature(path: str, operation: str, user: str, token: str, expires: str) -> str:
    """As the SDK makes it: `v1_` and unpadded base64 of sha256("path:operation:user:token[:expiration]")."""
    raw = ":".join((path, operation, user, token, *((expires,) if expires else ())))
    digest = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).digest()
    return "v1_" + base64.b64encode(digest).rstrip(b"=").decode("ascii")


def check_signature(request: Request, sandbox: Sandbox, operation: str) -> None:
    """Raises Fault 401 unless a file's URL was signed with this sandbox's token, for this, and is not over."""
    if not _is_signed(request, sandbox, operation):
        raise Fault(401, "the signature is not valid for this file", code="unauthenticated")
    expires = request.query_params.get("signature_expiration", "")
    if expires and (not expires.isdigit() or len(expires) > 15 or int(expires) < time.time()):
        raise Fault(401, "signature is already expired", code="unauthenticated")


def _is_signed(request: Request, sandbox: Sandbox, operation: str) -> bool:
    query = request.query_params
    expected = signature(
        query.get("path", ""),
        operation,
        query.get("username", ""),
        sandbox.kept.token,
        query.get("signature_expiration", ""),
    )
    return same(query.get("signature", ""), expected)


def signed_for(request: Request, sandboxes: Sandboxes) -> Target | None:
    """The sandbox of a signed file URL that names none, because it was made for this server's own address: the one
    whose token made the signature."""
    if request.url.path != "/files" or "signature" not in request.query_params:
        return None
    operation = "write" if request.method == "POST" else "read"
    found = [one for one in sandboxes.running() if _is_signed(request, one, operation)]
    return Target(found[0].sandbox_id, ENVD_PORT) if found else None
