"""Where boxes have interpreters of other versions than their image's own. Pure."""

from __future__ import annotations

from typing import Final

PLACE: Final = "/opt/sandbox-gym/python"


def in_box(version: str) -> str:
    """The interpreter's path in a box; Debian's own where no version is asked for."""
    version = minor(version)
    return f"{PLACE}/{version}/bin/python{version}" if version else "/usr/bin/python3"


def minor(version: str) -> str:
    """`3.12` of `3.12.1`."""
    return ".".join(version.split(".")[:2])
