"""What of the network a tenant's sandbox gets, by E2B's network rules and by what the tenant may. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sandbox_gym.network import AllowList, Network
from sandbox_gym.server.e2b_api.accounts import Tenant
from sandbox_gym.server.e2b_api.faults import Fault

ALL: Final = "0.0.0.0/0"
_NOT_KEPT: Final = ("rules", "egressProxy", "dnsServers")


def wanted(allowed: object, rules: object) -> tuple[bool, tuple[str, ...]]:
    """(whether all that the tenant may reach is wanted, or else the entries that are), of a request's
    `allow_internet_access` and `network`. Like at E2B what is in `allowOut` goes before what is denied; where something
    is denied and nothing is allowed there is nothing. Raises Fault 400."""
    document: Mapping[str, object] = rules if isinstance(rules, dict) else {}
    allow_out = entries(document)
    ruled = any(document.get(name) for name in ("denyOut", *_NOT_KEPT))
    if allow_out and (unkept := [name for name in _NOT_KEPT if document.get(name)]):
        raise Fault(400, f"network.{unkept[0]} is not to be had here")
    return allowed is not False and not ruled and not allow_out, allow_out


def entries(document: Mapping[str, object]) -> tuple[str, ...]:
    """The `allowOut` of rules. Raises Fault 400."""
    value = document.get("allowOut")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Fault(400, "network.allowOut is a list of texts")
    try:
        AllowList(value)
    except ValueError as error:
        raise Fault(400, f"network.allowOut: {error}") from None
    return tuple(value)


def granted(tenant: Tenant, everything: bool, allow_out: Sequence[str]) -> Network:
    """What a sandbox gets. Raises Fault 403 for an entry that its tenant may not have: less than what was asked for
    would be found out late."""
    for entry in allow_out:
        if not may_reach(tenant, entry):
            raise Fault(403, f"network.allowOut: {entry!r} is not among what this tenant may reach")
    if allow_out:
        return Network(allow=tuple(allow_out))
    if not everything:
        return Network()
    return Network(machine=True) if tenant.network else Network(allow=tenant.allow_out)


def may_reach(tenant: Tenant, entry: str) -> bool:
    """Whether an entry of an allow-list is one that the tenant may have."""
    return tenant.network or AllowList(tenant.allow_out).covers(entry)
