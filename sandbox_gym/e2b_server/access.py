"""Which sandbox a request is for, and whether it may: hosts, routing headers, access tokens, signed URLs."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox, check_user
from sandbox_gym.sandbox.channel.envd import USER
from sandbox_gym.server.access.accounts import same
from sandbox_gym.server.access.request_guard import AllowedHosts, host_of

ENVD_PORT: Final = 49983
INTERPRETER_PORT: Final = 49999
UPLOADS: Final = "/templates/uploads/"
"""A secret link follows, to which the files of a template's step are PUT without a key."""
ID_HEADER: Final = "e2b-sandbox-id"
PORT_HEADER: Final = "e2b-sandbox-port"
TOKEN_HEADER: Final = "x-access-token"
TRAFFIC_HEADER: Final = "e2b-traffic-access-token"
_LABEL: Final = re.compile(r"(\d{1,5})-([a-z0-9]{1,63})")


@dataclass(frozen=True, slots=True)
class Target:
    """A port of a sandbox, which may not exist."""

    sandbox_id: str
    port: int


class PoolHosts:
    """The hosts of a pool: its own, where headers name the sandbox, and `{port}-{id}.<domain>` of its sandboxes.

    Where tenants have keys, every host name counts as the pool's own, and sandboxes are below any domain unless one is
    configured: tokens decide, and a page that does not know them gains nothing by a host name.
    """

    def __init__(self, bind: str, names: Sequence[str] = (), *, domain: str = "", keyed: bool = False) -> None:
        self._allowed = AllowedHosts(bind, names, domain=domain)
        self._keyed = keyed
        self._domains = () if keyed and not domain else tuple(filter(None, (domain.lower(), "localhost")))

    def admit(self, host: str) -> bool:
        """Whether a host is the pool's own or a sandbox's."""
        try:
            return self.is_own(host) or self.sandbox_at(host) is not None
        except Fault:
            return False

    def is_own(self, host: str) -> bool:
        """Whether a host is the pool itself."""
        short = "." not in host or host.split(".", 1)[0] in ("sandbox", "localhost")
        return self._allowed.admit(host) or (self._keyed and short)

    def sandbox_at(self, host: str) -> Target | None:
        """The port that a host names; None for a host that names none. Raises Fault 400 for no port."""
        label, _, domain = host.partition(".")
        match = _LABEL.fullmatch(label)
        if match is None or not domain or (self._domains and domain not in self._domains):
            return None
        return Target(match.group(2), _port(match.group(1)))


def target_of(request: Request, hosts: PoolHosts) -> Target | None:
    """The sandbox and port of a request; None for the control plane. Raises Fault 400 for a contradictory one.

    Host `{port}-{id}.domain` decides. Routing headers count only where the host is this server itself: an address,
    localhost, a configured name, or `sandbox.domain`.
    """
    named = request.headers.getlist("host")
    if len(named) > 1:
        raise Fault(400, "more than one Host header")
    host = host_of(named[0]) if named and named[0] else ""
    if host is None:
        raise Fault(400, f"Host is {named[0][:80]!r}, which is not a host")
    target = hosts.sandbox_at(host)
    if target is not None:
        return target
    ids, ports = request.headers.getlist(ID_HEADER), request.headers.getlist(PORT_HEADER)
    if not ids:
        return None
    if len(ids) > 1 or len(ports) > 1:
        raise Fault(400, f"more than one {ID_HEADER} or {PORT_HEADER} header")
    if host and not hosts.is_own(host):
        raise Fault(400, f"{ID_HEADER} is not accepted at host {host[:80]!r}")
    return Target(ids[0], _port(ports[0]) if ports else ENVD_PORT)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65536:
        raise Fault(400, f"{text[:20]!r} is not a port")
    return int(text)


def for_a_program(scope: Scope, hosts: PoolHosts) -> bool:
    """Whether a request is for a program in a sandbox, which decides itself about pages of other sites, or for a file
    by a signed URL, which is meant for use in pages."""
    if scope["type"] != "http":
        return False
    request = Request(scope)
    if scope["path"] == "/files" and "signature" in request.query_params:
        return True
    try:
        target = target_of(request, hosts)
    except Fault:
        return False
    return target is not None and target.port not in (ENVD_PORT, INTERPRETER_PORT)


def names_a_sandbox(scope: Scope) -> bool:
    """Whether a header names its sandbox, as the SDK's do. A page of another site can add none without a preflight,
    which is refused: so a form's content type says nothing against the request, and the SDK sends files as a form."""
    return scope["type"] == "http" and ID_HEADER in Headers(scope=scope)


def is_upload(scope: Scope) -> bool:
    """Whether a request is a PUT to a link that was made for it."""
    return scope["type"] == "http" and scope["method"] == "PUT" and str(scope["path"]).startswith(UPLOADS)


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
    if len(given) != 1 or not same(given[0], sandbox.record.token):
        raise Fault(
            401, "unauthorized access: the access token is missing or not this sandbox's", code="unauthenticated"
        )


def check_traffic(request: Request, sandbox: Sandbox) -> None:
    """Raises Fault 403 unless the request carries the sandbox's traffic token, or its access token."""
    traffic, access = request.headers.getlist(TRAFFIC_HEADER), request.headers.getlist(TOKEN_HEADER)
    if len(traffic) == 1 and same(traffic[0], sandbox.record.traffic_token):
        return
    if len(access) == 1 and same(access[0], sandbox.record.token):
        return
    raise Fault(403, f"unauthorized access: {TRAFFIC_HEADER} is missing or not this sandbox's", code="unauthenticated")


def user_of(request: Request, sandbox: Sandbox) -> str:
    """The user that an envd request names, or its sandbox's usual one. Raises Fault 401 for one that does not exist in
    it."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return usual_user(sandbox)
    try:
        name = base64.b64decode(given.strip(), validate=True).decode("utf-8").partition(":")[0]
    except (binascii.Error, UnicodeDecodeError):
        raise Fault(401, "the Authorization header is not Basic", code="unauthenticated") from None
    check_user(name, sandbox)
    return name or USER


def usual_user(sandbox: Sandbox) -> str:
    """Whom a request stands for that names nobody."""
    return sandbox.record.user if sandbox.may_root and sandbox.record.user else USER


def signature(path: str, operation: str, user: str, token: str, expires: str) -> str:
    """As the SDK makes it: `v1_` and unpadded base64 of sha256("path:operation:user:token[:expiration]")."""
    raw = ":".join((path, operation, user, token, *((expires,) if expires else ())))
    digest = hashlib.sha256(raw.encode("utf-8", "surrogatepass")).digest()
    return "v1_" + base64.b64encode(digest).rstrip(b"=").decode("ascii")


def check_signature(request: Request, sandbox: Sandbox, operation: str) -> None:
    """Raises Fault 401 unless a file's URL has this sandbox's signature for this operation and has not expired."""
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
        sandbox.record.token,
        query.get("signature_expiration", ""),
    )
    return same(query.get("signature", ""), expected)


def signed_for(request: Request, sandboxes: Sandboxes) -> Target | None:
    """The sandbox of a signed file URL that was made for this server's own address and so names none: the one whose
    token made the signature."""
    if request.url.path != "/files" or "signature" not in request.query_params:
        return None
    operation = "write" if request.method == "POST" else "read"
    found = [one for one in sandboxes.running() if _is_signed(request, one, operation)]
    return Target(found[0].sandbox_id, ENVD_PORT) if found else None
