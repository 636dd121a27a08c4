"""Registries' manifests: how large an image is before it is pulled. Blocking; the credentials are the Engine client's.

Source: the OCI distribution specification, and Docker's token authentication.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.images.contract import PullFailed, PullProblem
from sandbox_gym.sandbox.images.name import HUB, HUB_API, ImageName

TIMEOUTS_S: Final = (10.0, 30.0)
"""For a connection, and between two bytes."""
_KINDS: Final = ", ".join(
    f"application/vnd.{kind}+json"
    for kind in (
        "docker.distribution.manifest.v2", "docker.distribution.manifest.list.v2",
        "oci.image.manifest.v1", "oci.image.index.v1",
    )
)  # fmt: skip
MOST_BYTES: Final = 4 << 20
"""Of a manifest or a token; the specification asks for as much of registries."""
REPLY_S: Final = 60.0
_PARAMETER: Final = re.compile(r'(\w+)="([^"]*)"')
_PROBLEMS: Final = {429: PullProblem.RATE, **dict.fromkeys((400, 401, 403, 404), PullProblem.REFUSED)}


class DockerRegistries:
    """See `images.contract.ReadsRegistry`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._info: Mapping[str, Any] | None = None

    def layers(self, name: ImageName) -> Sequence[tuple[str, int]]:
        import requests  # the SDK's own; where that is missing there is no provider

        try:
            with requests.Session() as session:
                asked = _Registry(session, self._engine, name, self._schemes(name.registry))
                manifest = asked.manifest(name.version)
                if "manifests" in manifest:
                    manifest = asked.manifest(self._chosen(manifest["manifests"]))
                parts = [manifest["config"], *manifest["layers"]]
                return [(str(part["digest"]), int(part["size"])) for part in parts]
        except self._engine.errors as error:
            raise PullFailed(PullProblem.NETWORK, str(error)[:500]) from error
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise PullFailed(PullProblem.REFUSED, f"its manifest makes no sense: {error!r}"[:500]) from error

    def _chosen(self, manifests: Sequence[Mapping[str, Any]]) -> str:
        """The digest for the Engine's platform. Raises PullFailed."""
        machine = str(self._engine_info().get("Architecture"))
        wanted = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
        for one in manifests:
            platform = one.get("platform") or {}
            if platform.get("architecture") == wanted and platform.get("os", "linux") == "linux":
                return str(one["digest"])
        raise PullFailed(PullProblem.REFUSED, f"no matching manifest for linux/{wanted}")

    def _schemes(self, registry: str) -> Sequence[str]:
        """Without TLS only where the Engine takes that too."""
        config = self._engine_info().get("RegistryConfig") or {}
        index = (config.get("IndexConfigs") or {}).get(registry) or {}
        host = registry.rpartition(":")[0].strip("[]") or registry
        try:
            address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
            networks = [ipaddress.ip_network(each) for each in config.get("InsecureRegistryCIDRs") or ()]
            insecure = any(address in network for network in networks if network.version == address.version)
        except ValueError:
            insecure = False
        return ("https", "http") if insecure or index.get("Secure") is False else ("https",)

    def _engine_info(self) -> Mapping[str, Any]:
        if self._info is None:
            self._info = dict(self._engine.connect().info())
        return self._info


class _Registry:
    """One repository's manifests."""

    def __init__(self, session: Any, engine: Engine, name: ImageName, schemes: Sequence[str]) -> None:
        self._session, self._name, self._schemes = session, name, schemes
        self._host = HUB_API if name.registry == HUB else name.registry
        auth = engine.sdk.auth
        self._known: Mapping[str, str] = auth.load_config().resolve_authconfig(name.registry) or {}

    def manifest(self, version: str) -> dict[str, Any]:
        """Raises PullFailed, and requests' errors."""
        path = f"/v2/{self._name.repository}/manifests/{version}"
        reply = self._ask(path, {})
        if reply.status_code == 401:
            reply = self._ask(path, self._authorized(reply.headers.get("WWW-Authenticate", "")))
        if reply.status_code != 200:
            problem = _PROBLEMS.get(reply.status_code, PullProblem.NETWORK)
            raise PullFailed(problem, f"{self._host} answers {reply.status_code} for {self._name.full}")
        return _document(reply)

    def _ask(self, path: str, headers: Mapping[str, str]) -> Any:
        for scheme in self._schemes[:-1]:
            try:
                return self._get(f"{scheme}://{self._host}{path}", headers)
            except OSError:
                continue  # it speaks no TLS
        return self._get(f"{self._schemes[-1]}://{self._host}{path}", headers)

    def _get(self, url: str, headers: Mapping[str, str]) -> Any:
        return self._session.get(url, headers={"Accept": _KINDS, **headers}, timeout=TIMEOUTS_S, stream=True)

    def _authorized(self, challenge: str) -> dict[str, str]:
        """The header that a challenge asks for."""
        scheme, _, rest = challenge.partition(" ")
        given = dict(_PARAMETER.findall(rest))
        login = (self._known.get("username") or "", self._known.get("password") or "")
        if scheme.lower() == "basic":
            encoded = base64.b64encode(":".join(login).encode()).decode()
            return {"Authorization": f"Basic {encoded}"} if login[0] else {}
        wanted = {"service": given.get("service", ""), "scope": given.get("scope", "")}
        realm = given.get("realm", "")
        if self._known.get("IdentityToken"):
            form = {**wanted, "grant_type": "refresh_token", "refresh_token": self._known["IdentityToken"]}
            form["client_id"] = "sandbox-gym"
            reply = self._session.post(realm, data=form, timeout=TIMEOUTS_S, stream=True)
        else:
            auth = login if login[0] else None
            reply = self._session.get(realm, params=wanted, auth=auth, timeout=TIMEOUTS_S, stream=True)
        if reply.status_code != 200:
            raise PullFailed(
                PullProblem.REFUSED, f"{realm} answers {reply.status_code}: no token for these credentials"
            )
        found = _document(reply)
        return {"Authorization": f"Bearer {found.get('token') or found.get('access_token')}"}


def _document(reply: Any) -> dict[str, Any]:
    """A registry's answer, of a bounded size and within a bounded time. Raises ValueError, PullFailed."""
    body, until = bytearray(), time.monotonic() + REPLY_S
    for piece in reply.iter_content(1 << 16):
        body += piece
        if time.monotonic() > until:
            raise PullFailed(PullProblem.NETWORK, f"a registry's answer was not whole within {REPLY_S:.0f} s")
        if len(body) > MOST_BYTES:
            raise ValueError(f"over {MOST_BYTES} bytes")
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found
