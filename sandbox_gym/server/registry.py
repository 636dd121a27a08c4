"""The resources servers by kind, each made from settings and an instance's name. A kind is imported when it is made: a
server is of one kind, and importing the others would take a third of its start."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox_gym.config import Settings
from sandbox_gym.server.protocol.resources import ResourcesServer

Make = Callable[[Settings, str], ResourcesServer]


def _coding(settings: Settings, name: str) -> ResourcesServer:
    from sandbox_gym.server.coding.server import CodingResources

    return CodingResources(settings, name=name)


def _math(settings: Settings, name: str) -> ResourcesServer:
    from sandbox_gym.server.math.server import MathResources

    return MathResources(settings, name=name)


def _swe(settings: Settings, name: str) -> ResourcesServer:
    from sandbox_gym.server.swe.server import SweResources

    return SweResources(settings, name=name)


SERVERS: Mapping[str, Make] = {"coding": _coding, "math": _math, "swe": _swe}


def kind_of(row: Mapping[str, object]) -> str:
    """The kind of server that a row is for, by its fields."""
    if "FAIL_TO_PASS" in row or "expected_output_json" in row or isinstance(row.get("instance"), dict):
        return "swe"
    metadata = row.get("verifier_metadata")
    holder = metadata if isinstance(metadata, Mapping) else row
    math = holder.get("expected_answer") is not None or holder.get("expected_result") is not None
    return "math" if math else "coding"


def misdirected(row: Mapping[str, object], kind: str) -> str:
    """Whose a row is by its fields, where a server of `kind` was sent it; empty where they don't tell."""
    found = kind_of(row)
    if found == kind or kind not in SERVERS or (found == "coding" and not row.get("verifier_metadata")):
        return ""
    return f"; by its fields it is for `sandbox-gym serve {found}`"
