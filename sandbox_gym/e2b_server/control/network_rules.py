"""E2B's network rules of a request: which part of the network a client asks for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.network import normal

ALL: Final = "0.0.0.0/0"
MAX_ENTRIES: Final = 100
_UNSUPPORTED: Final = ("rules", "egressProxy")


def wanted(allowed: object, rules: object, *, strict: bool = False) -> tuple[bool, tuple[str, ...]]:
    """What a request's `allow_internet_access` and `network` ask for: (everything that the tenant may reach, else these
    entries). As at E2B `allowOut` goes before `denyOut`. A `denyOut` without an `allowOut` means no network; an
    `allowOut` is the whole allow-list, with or without a `denyOut`. `strict`: refuse rules that are not supported,
    instead of giving no network. Raises Fault 400."""
    document: Mapping[str, object] = rules if isinstance(rules, dict) else {}
    allow_out = entries(document)
    unsupported = [name for name in _UNSUPPORTED if document.get(name)]
    ruled = bool(document.get("denyOut") or unsupported)
    if unsupported and (allow_out or strict):
        raise Fault(400, f"network.{unsupported[0]} is not supported")
    return allowed is not False and not ruled and not allow_out, allow_out


def entries(document: Mapping[str, object]) -> tuple[str, ...]:
    """The `allowOut` of rules. Raises Fault 400."""
    value = document.get("allowOut")
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Fault(400, "network.allowOut must be a list of strings")
    if len(value) > MAX_ENTRIES:
        raise Fault(400, f"network.allowOut has {len(value)} entries; at most {MAX_ENTRIES}")
    try:
        return tuple(dict.fromkeys(normal(entry) for entry in value))
    except ValueError as error:
        raise Fault(400, f"network.allowOut: {error}") from None
