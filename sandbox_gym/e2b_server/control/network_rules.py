"""E2B's network rules of a request: which part of the network a client asks for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.network import normal

ALL: Final = "0.0.0.0/0"
MAX_ENTRIES: Final = 100
_NOT_KEPT: Final = ("rules", "egressProxy")


def wanted(allowed: object, rules: object, *, strict: bool = False) -> tuple[bool, tuple[str, ...]]:
    """(whether all that the tenant may reach is wanted, or else the entries that are), of a request's
    `allow_internet_access` and `network`. Like at E2B what is in `allowOut` goes before what is denied; where something
    is denied and nothing is allowed there is nothing; what is allowed is all there is, whether or not the rest is
    denied. `strict`: refuse rules that can't be kept, rather than have no network. Raises Fault 400."""
    document: Mapping[str, object] = rules if isinstance(rules, dict) else {}
    allow_out = entries(document)
    unkept = [name for name in _NOT_KEPT if document.get(name)]
    ruled = bool(document.get("denyOut") or unkept)
    if unkept and (allow_out or strict):
        raise Fault(400, f"network.{unkept[0]} is not to be had here")
    return allowed is not False and not ruled and not allow_out, allow_out


def entries(document: Mapping[str, object]) -> tuple[str, ...]:
    """The `allowOut` of rules. Raises Fault 400."""
    value = document.get("allowOut")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Fault(400, "network.allowOut is a list of texts")
    if len(value) > MAX_ENTRIES:
        raise Fault(400, f"network.allowOut has {len(value)} entries; at most {MAX_ENTRIES}")
    try:
        return tuple(dict.fromkeys(normal(entry) for entry in value))
    except ValueError as error:
        raise Fault(400, f"network.allowOut: {error}") from None
