"""How much of the network a sandbox has: none, an allow-list, or the machine's. Pure.

An allow-list has the entries of E2B's `allow_out`: an address or a CIDR block (any port), a host name, or `*.` and a
name for every name below it (ports 80 and 443).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Block = ipaddress.IPv4Network | ipaddress.IPv6Network

NAME_PORTS: Final = (80, 443)
MAX_ENTRIES: Final = 1000
NARROW: Final = {4: 8, 6: 7}
"""By IP version: a block with a shorter prefix than this covers public addresses only. 0.0.0.0/0 means the internet,
not the services on the server's own loopback."""
_LABEL: Final = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"(\*\.)?({_LABEL}\.)*{_LABEL}")
_OWN: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/3", "::/96", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23",
        "2001:db8::/32", "2002::/16", "5f00::/16", "fc00::/7", "fe80::/9", "ff00::/8",
    )
)  # fmt: skip
"""Addresses that are not public: IANA's special-purpose registries, multicast, and IPv6 addresses that stand for IPv4
ones."""


@dataclass(frozen=True, slots=True)
class Network:
    """A sandbox's network. `machine`: all of this machine's network; `allow`: the entries of an AllowList, through a
    proxy; None: no proxy."""

    machine: bool = False
    allow: tuple[str, ...] | None = None


NO_NETWORK: Final = Network()
MACHINES_NETWORK: Final = Network(machine=True)


class AllowList:
    """What may be reached. Raises ValueError that names the invalid entry."""

    def __init__(self, entries: Sequence[str]) -> None:
        if len(entries) > MAX_ENTRIES:
            raise ValueError(f"{len(entries)} entries; at most {MAX_ENTRIES}")
        self._blocks: list[Block] = []
        self._names: set[str] = set()
        for entry in entries:
            parsed = _parsed(entry)
            if isinstance(parsed, str):
                self._names.add(parsed)
            else:
                self._blocks.append(parsed)

    def covers(self, entry: str) -> bool:
        """Whether this list allows everything that `entry` of another list covers. Raises ValueError."""
        parsed = _parsed(entry)
        if isinstance(parsed, str):
            return self._has_name(parsed)
        # a wide entry, like a wide block, covers public addresses only
        public = not _narrow(parsed) or not any(_within(parsed, own) or _within(own, parsed) for own in _OWN)
        return any(_within(parsed, block) and (public or _narrow(block)) for block in self._blocks)

    def permits_name(self, host: str, port: int) -> bool:
        """Whether a name may be resolved in order to connect to that port."""
        return port in NAME_PORTS and self._has_name(host.lower().removesuffix("."))

    def permits_address(self, address: str, *, named: bool) -> bool:
        """Whether an address may be connected to. `named`: a listed name resolved to it, which is enough where the
        address is public; the owner of a name must not direct sandboxes into a private network."""
        found = _plain(ipaddress.ip_address(address.partition("%")[0]))
        public = found.is_global and not any(found in own for own in _OWN)
        if named and public:
            return True
        return any(found in block and (public or _narrow(block)) for block in self._blocks)

    def _has_name(self, name: str) -> bool:
        if name in self._names:
            return True
        labels = name.removeprefix("*.").split(".")
        first = 0 if name.startswith("*.") else 1
        return any("*." + ".".join(labels[start:]) in self._names for start in range(first, len(labels)))


def normal(entry: str) -> str:
    """An entry in its normal form. Raises ValueError."""
    parsed = _parsed(entry)
    if isinstance(parsed, str):
        return parsed
    return str(parsed.network_address if parsed.prefixlen == parsed.max_prefixlen else parsed)


def _parsed(entry: str) -> Block | str:
    text = entry.strip().lower().removesuffix(".")
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        pass
    if not _NAME.fullmatch(text) or len(text) > 253 or text.rpartition(".")[2].isdigit():
        raise ValueError(
            f"{entry[:80]!r} is no address, no CIDR block and no host name; write 192.0.2.1, 192.0.2.0/24, "
            "example.com or *.example.com, without a port, other alphabets as xn--..."
        )
    return text


def _narrow(block: Block) -> bool:
    return block.prefixlen >= NARROW[block.version]


def _within(inner: Block, outer: Block) -> bool:
    return inner.version == outer.version and inner.subnet_of(outer)  # type: ignore[arg-type]


def _plain(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
