"""Guards a server without a token: accepts only its own host names, and no request of another site's page.

A page of any site can send requests to an address of the reader's machine (cross-site request forgery), and can have
its own name resolve to that address, so that the browser takes the replies for the page's own (DNS rebinding). The
first is detected by Origin, Sec-Fetch-Site and the content types of forms, the second by Host. One ASGI middleware in
front of every application; it knows no route except the exceptions that its caller names.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_gym.server.protocol.exchange import reply

SETTING: Final = "SANDBOX_GYM_ALLOWED_HOSTS"
MISDIRECTED: Final = 421
_AUTHORITY: Final = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<name>[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_])?))"
    r"(?::(?P<port>[0-9]{1,5}))?",
    re.ASCII,
)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_FORM_TYPES: Final = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
"""Content types that a page may send to another site without a preflight (Fetch standard, CORS-safelisted headers)."""
_UNREADABLE: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_LOOKS: Final = ("GET", "HEAD", "OPTIONS")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Refuse = Callable[[int, str], ASGIApp]


class AllowedHosts:
    """The hosts that a server accepts as its own: addresses, `localhost`, the name it is bound to, configured names.

    Every address is accepted where the server is bound to all of the machine's: rebinding needs a name, and behind a
    published port the server can't know by which address it is reached.
    """

    def __init__(self, bind: str, names: Sequence[str] = (), *, domain: str = "") -> None:
        """`bind`: the address that the server listens on. `domain`: accepted too, with all names below it."""
        bound = address_of(bind.strip("[]"))
        self._bound = bound
        self._any_address = bind != "localhost" and (bound is None or bound.is_unspecified)
        self._names = frozenset(name.strip("[]").lower() for name in (*names, "localhost", bind) if name)
        self._domain = f".{domain.lower()}" if domain else ""

    def admit(self, host: str) -> bool:
        """Whether a host, lower case and without port or brackets, is the server's own."""
        if host in self._names or (self._domain and f".{host}".endswith(self._domain)):
            return True
        address = address_of(host)
        return address is not None and (self._any_address or address.is_loopback or address == self._bound)


def address_of(host: str) -> Address | None:
    """The address in a host; None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def host_of(authority: str) -> str | None:
    """The host of a Host header, lower case, without brackets; None for an invalid one."""
    parts = _parts(authority)
    return None if parts is None else parts[0]


def _parts(authority: str) -> tuple[str, int | None] | None:
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        return None
    six, port = match["six"], match["port"]
    if six is not None and (":" not in six or address_of(six) is None):
        return None
    if port is not None and not 0 < int(port) < 65536:
        return None
    return (six or match["name"]).lower(), None if port is None else int(port)


def cross_site(headers: Headers) -> str:
    """Why a request counts as another site's page's; empty for a page of this server and for a program.

    Browsers send Origin with every POST and every cross-origin request whose response is readable, and Sec-Fetch-Site
    with every request to a loopback address, to `localhost` or over TLS.
    """
    sites = headers.getlist("sec-fetch-site")
    if any(site.strip().lower() not in ("same-origin", "none") for site in sites):
        return f"a page of another origin sent it (Sec-Fetch-Site: {', '.join(sites)[:40]})"
    origins, hosts = headers.getlist("origin"), headers.getlist("host")
    if origins and (len(origins) > 1 or len(hosts) != 1 or not _is_origin_of(origins[0], hosts[0])):
        return f"a page of another origin sent it (Origin: {origins[0][:80]!r})"
    return ""


def _is_origin_of(origin: str, authority: str) -> bool:
    """The scheme is not compared: TLS may end at a proxy."""
    scheme, separator, rest = origin.partition("://")
    default = _DEFAULT_PORTS.get(scheme.lower())
    one, other = _parts(rest), _parts(authority)
    if not separator or default is None or one is None or other is None:
        return False
    return (one[0], one[1] or default) == (other[0], other[1] or default)


def _no_exception(_: Scope) -> bool:
    return False


def _as_detail(status: int, why: str) -> ASGIApp:
    return reply({"detail": why}, status)


class RequestGuard:
    """421 for a host that is not the server's, 403 for another site's page, 415 for a form's content type."""

    def __init__(
        self,
        app: ASGIApp,
        admit: Callable[[str], bool],
        *,
        pages: Callable[[Scope], bool] = _no_exception,
        forms: Callable[[Scope], bool] = _no_exception,
        outside: Callable[[Scope], bool] = _no_exception,
        refuse: Refuse = _as_detail,
    ) -> None:
        """`admit`: whether a host is the server's. `pages`: routes that links of other sites may open in a tab.
        `forms`: routes that accept a form of this server's pages. `outside`: requests of which only the Host is
        checked."""
        self._app, self._admit, self._refuse = app, admit, refuse
        self._pages, self._forms, self._outside = pages, forms, outside

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        refusal = self._refusal(scope)
        if refusal is None and self._outside(scope):
            return await self._app(scope, receive, send)
        if scope["type"] == "websocket":
            return await (self._app(scope, receive, send) if refusal is None else _close(receive, send))
        app = self._app if refusal is None else self._refuse(*refusal)
        await app(scope, receive, _unreadable(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """(status, why), or None for a request that may pass."""
        headers = Headers(scope=scope)
        named = headers.getlist("host")
        host = host_of(named[0]) if len(named) == 1 else None
        if host is None or not self._admit(host):
            shown = named[0][:80] if named else ""
            return MISDIRECTED, (
                f"host {shown!r} is not this server's: without a token it answers at its address, at localhost and at"
                f" names in {SETTING} (allowed_hosts); add the name there, or set SANDBOX_GYM_TOKEN"
            )
        if self._outside(scope):
            return None
        why = "" if self._is_link(scope, headers) else cross_site(headers)
        if why:
            return (403, f"{why}: without SANDBOX_GYM_TOKEN this server answers only its own pages and programs")
        return self._wrong_type(scope, headers)

    def _is_link(self, scope: Scope, headers: Headers) -> bool:
        """Whether a request opens a page of this server in a whole tab, from any site."""
        whole = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return scope["type"] == "http" and scope["method"] == "GET" and whole and self._pages(scope)

    def _wrong_type(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        if scope["type"] != "http" or scope["method"] in _LOOKS or self._forms(scope):
            return None
        has_body = headers.get("content-length", "0").strip() != "0" or "transfer-encoding" in headers
        given = headers.getlist("content-type")
        kinds = {one.partition(";")[0].strip().lower() for one in given}
        if not (kinds & _FORM_TYPES or (has_body and not kinds - {""})):
            return None
        shown = given[0][:80] if given else ""
        return (
            415,
            f"Content-Type is {shown!r}: send Content-Type: application/json, which a page of another site can't",
        )


def _unreadable(send: Send) -> Send:
    """Adds headers so that a page of another site can neither frame a response nor include it as image or script."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _UNREADABLE.items():
                headers.setdefault(name, value)
        await send(message)

    return answer


async def _close(receive: Receive, send: Send) -> None:
    await receive()  # websocket.connect
    await send({"type": "websocket.close", "code": 1008})
