"""Tenants by API key, for every server: the file of keys, the pool's quotas, comparison in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.network import AllowList, normal
from sandbox_gym.settings.http import must_be_sendable

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789"
MIN_KEY: Final = 16
MAX_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant. The quotas hold for `serve pool`; other servers share by `tenant_weights`."""

    name: str
    sandboxes: int = 20
    """Sandboxes running at once."""
    held: int = 1000
    """Sandboxes running and paused."""
    snapshots: int = 1000
    creates_per_s: float = 5.0
    """Sandboxes created per second on average; bursts of twice as many are allowed."""
    max_timeout_s: int = 86_400
    """The longest time that a sandbox lives after it was created or extended."""
    root: bool = False
    """May create sandboxes whose commands run as the box's root: templates `<image>:root`."""
    network: bool = False
    """May create sandboxes with this machine's network, including services on its loopback."""
    allow_out: tuple[str, ...] = ()
    """What sandboxes may reach otherwise, through a proxy: addresses, CIDR blocks, host names, *.names."""
    operator: bool = False
    """The operator, who sends `token`: sees /metrics and may name other tenants. Never set for a key of the file."""


_ALONE: Final = Tenant(
    "default", sandboxes=1000, held=20_000, snapshots=20_000, creates_per_s=100.0, root=True, operator=True
)
"""The only tenant of a server without keys."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float = field(default_factory=time.monotonic)


class Accounts:
    """Keys and their tenants. Without any key every caller is one tenant, the operator."""

    def __init__(self, keys: Mapping[str, Tenant], *, network: bool = False, allow_out: Sequence[str] = ()) -> None:
        """`network`, `allow_out`: of the only tenant where there are no keys."""
        self._digests = [(hashlib.sha256(key.encode()).digest(), tenant) for key, tenant in keys.items()]
        self._buckets: dict[str, _Bucket] = {}
        self._anyone = replace(_ALONE, name="anyone", creates_per_s=1000.0, network=network, allow_out=tuple(allow_out))

    @property
    def open(self) -> bool:
        """Whether no key is required."""
        return not self._digests

    def tenant(self, key: str) -> Tenant | None:
        """The tenant of a key. Every digest is compared, each in constant time. Where no key is required, the request
        must carry some key all the same: a page of another site can't send that header without the server's consent."""
        if self.open:
            return self._anyone if key else None
        given = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        found = None
        for digest, tenant in self._digests:
            if hmac.compare_digest(digest, given):
                found = tenant
        return found

    def named(self, name: str) -> Tenant | None:
        """A tenant by its name."""
        if self.open:
            return self._anyone
        return next((tenant for _, tenant in self._digests if tenant.name == name), None)

    def may_create(self, tenant: Tenant) -> float:
        """0, and one create is counted; else the seconds until the next create is allowed."""
        now = time.monotonic()
        most = max(1.0, 2 * tenant.creates_per_s)
        bucket = self._buckets.setdefault(tenant.name, _Bucket(most, now))
        bucket.tokens = min(most, bucket.tokens + (now - bucket.filled_at) * tenant.creates_per_s)
        bucket.filled_at = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / tenant.creates_per_s


def same(given: str, token: str) -> bool:
    """Compare in constant time, also where a value is malformed."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode("ascii"))


def owned(tenant: str, name: str) -> str:
    """A name that a caller chose, made distinct from other tenants' names; unchanged where `tenant` is empty."""
    return f"{len(tenant)}:{tenant}:{name}" if tenant else name


def new_id(prefix: str, length: int = 20) -> str:
    """A random name that is valid in a host name."""
    return prefix + "".join(secrets.choice(_LETTERS) for _ in range(length - len(prefix)))


def load_accounts(path: Path | None, token: str, *, network: bool = False, allow_out: Sequence[str] = ()) -> Accounts:
    """The tenants of a TOML file, and a tenant `default` whose key is `token` where that is set. `network`,
    `allow_out`: of that tenant, or of the only one without keys; the file sets them for its own tenants.

    Raises ConfigurationError. The file: `[tenants.NAME]` with `keys = [...]` and, optionally, fields of Tenant.
    """
    keys: dict[str, Tenant] = {} if path is None else _read(path)
    if token in keys:
        raise ConfigurationError(f"keys {path}: tenant {keys[token].name!r} has the server's own token as a key")
    if token:
        keys[token] = replace(_ALONE, network=network, allow_out=tuple(allow_out))
    return Accounts(keys, network=network, allow_out=allow_out)


def _read(path: Path) -> dict[str, Tenant]:
    try:
        document = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"keys {path}: {error}") from None
    tenants = document.get("tenants")
    if not isinstance(tenants, dict) or not tenants:
        raise ConfigurationError(f"keys {path}: it has no [tenants.NAME]")
    found: dict[str, Tenant] = {}
    for name, fields in tenants.items():
        tenant, keys = _tenant(path, name, fields)
        for key in keys:
            if key in found:
                raise ConfigurationError(f"keys {path}: two tenants share a key")
            found[key] = tenant
    return found


def _tenant(path: Path, name: str, fields: object) -> tuple[Tenant, Sequence[str]]:
    where = f"keys {path}: tenant {name[:MAX_NAME]!r}"
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise ConfigurationError(f"{where}: a name must have 1 to {MAX_NAME} printable characters")
    if not isinstance(fields, dict):
        raise ConfigurationError(f"{where} is not a table")
    rest = dict(fields)
    keys = rest.pop("keys", None)
    if not isinstance(keys, list) or not keys or not all(isinstance(one, str) and len(one) >= MIN_KEY for one in keys):
        raise ConfigurationError(f"{where}: keys must be a list of strings of at least {MIN_KEY} characters")
    try:
        for key in keys:
            must_be_sendable(key)
    except ValueError as error:
        raise ConfigurationError(f"{where}: a key {error}") from None
    for field_name, value in rest.items():
        if field_name in ("name", "operator") or field_name not in Tenant.__dataclass_fields__:
            raise ConfigurationError(f"{where}: no field {field_name!r}")
        if field_name in ("root", "network"):
            if not isinstance(value, bool):
                raise ConfigurationError(f"{where}: {field_name} must be true or false")
            continue
        if field_name == "allow_out":
            rest[field_name] = _allow_out(where, value)
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigurationError(f"{where}: {field_name} must be a number over 0")
    return Tenant(name, **rest), keys


def _allow_out(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigurationError(f"{where}: allow_out must be a list of strings")
    try:
        AllowList(value)
        return tuple(normal(entry) for entry in value)
    except ValueError as error:
        raise ConfigurationError(f"{where}: allow_out: {error}") from None
