"""How much of the network a sandbox has: nothing, what a list names, or the machine's. Pure.

A list's entries are what E2B's `allow_out` takes: an address or a CIDR block (any port), a host name, or `*.` and a
name for all that is below it (ports 80 and 443).
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
_LABEL: Final = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME: Final = re.compile(rf"(\*\.)?({_LABEL}\.)*{_LABEL}")
_TRANSLATED: Final = tuple(ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16"))
"""IPv6 addresses that stand for IPv4 ones, private ones among them."""


@dataclass(frozen=True, slots=True)
class Network:
    """What a sandbox has of it. `machine`: all of it, as this machine has it; `allow`: what an AllowList names."""

    machine: bool = False
    allow: tuple[str, ...] = ()


NO_NETWORK: Final = Network()
MACHINES_NETWORK: Final = Network(machine=True)


class AllowList:
    """What may be reached. Raises ValueError that names the entry which is none."""

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
        """Whether all that another list's entry names is named here. Raises ValueError."""
        parsed = _parsed(entry)
        if isinstance(parsed, str):
            return self._has_name(parsed)
        return any(
            parsed.version == block.version and parsed.subnet_of(block)  # type: ignore[arg-type]
            for block in self._blocks
        )

    def permits(self, host: str, port: int, address: str) -> bool:
        """Whether `host` may be reached at `address`, which is what its name stands for, or itself. A name that is
        listed stands for public addresses only: who answers for it must not lead into somebody's own network."""
        found = _plain(ipaddress.ip_address(address.partition("%")[0]))
        if any(found in block for block in self._blocks):
            return True
        public = found.is_global and not any(found in block for block in _TRANSLATED)
        return public and port in NAME_PORTS and self._has_name(host.lower().removesuffix("."))

    def _has_name(self, name: str) -> bool:
        if name in self._names:
            return True
        labels = name.removeprefix("*.").split(".")
        first = 0 if name.startswith("*.") else 1
        return any("*." + ".".join(labels[start:]) in self._names for start in range(first, len(labels)))


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


def _plain(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
