"""Which part of the network a tenant's sandbox gets, by its request and the tenant's rights. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.network import AllowList, Network
from sandbox_gym.server.access.accounts import Tenant


def granted(tenant: Tenant, everything: bool, allow_out: Sequence[str]) -> Network:
    """The network of a sandbox. Raises Fault 403 for an entry that the tenant may not reach, instead of dropping it:
    the client would notice a missing entry late."""
    within = reachable(tenant, allow_out)
    for entry in allow_out:
        if entry not in within:
            raise Fault(403, f"network.allowOut: {entry!r} is not among what this tenant may reach")
    if allow_out:
        return Network(allow=tuple(allow_out))
    if not everything:
        return Network()
    return Network(machine=True) if tenant.network else Network(allow=tenant.allow_out or None)


def reachable(tenant: Tenant, allow_out: Sequence[str]) -> tuple[str, ...]:
    """The entries of an allow-list that the tenant may reach."""
    if tenant.network:
        return tuple(allow_out)
    own = AllowList(tenant.allow_out)
    return tuple(entry for entry in allow_out if own.covers(entry))
