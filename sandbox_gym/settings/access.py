"""Settings of who may call the server, and of what programs in sessions may reach."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pydantic import Field, field_validator

from sandbox_gym.network import AllowList, normal
from sandbox_gym.settings.group import Group

_HOST: Final = re.compile(r"[0-9A-Za-z_.-]{1,253}|\[?[0-9A-Fa-f.:]{2,45}\]?", re.ASCII)


def must_be_sendable(secret: str) -> str:
    """A secret that clients send in a header. Raises ValueError, without it."""
    if secret != secret.strip() or not secret.isprintable():
        raise ValueError("has a blank or a line end around it, or a control character: no client could send it")
    return secret


class AccessSettings(Group):
    """Keys, host names and the network of sessions."""

    token: str = Field(
        "",
        repr=False,
        description="The operator's bearer token, which every request but GET / and /health must carry. A bind beyond"
        " loopback needs it, or `keys`.",
    )
    keys: Path | None = Field(
        None, description="TOML file of tenants, each with keys of its own, checked as `token` is."
    )
    allow_unauthenticated: bool = Field(False, description="Permit a bind beyond loopback without a token.")
    allowed_hosts: list[str] = Field(
        default_factory=list,
        description="Host names besides `localhost` at which a server without a token answers, such as"
        ' ["gpu-7", "coding.internal"].',
    )
    allow_out: list[str] = Field(
        default_factory=list,
        description="What programs of sessions (agents' tools) may reach, by a proxy: addresses, CIDR blocks, host"
        " names, *.names; for `serve pool` without a file of keys, what sandboxes may reach. Verifies never have a"
        " network.",
    )

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: str) -> str:
        return must_be_sendable(token)

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, names: list[str]) -> list[str]:
        for name in names:
            if not _HOST.fullmatch(name):
                raise ValueError(f"{name[:80]!r} is no host name or address; names stand without scheme and port")
        return names

    @field_validator("allow_out")
    @classmethod
    def _is_allow_list(cls, entries: list[str]) -> list[str]:
        AllowList(entries)
        return [normal(entry) for entry in entries]


class PoolSettings(Group):
    """Of `serve pool`, the server that speaks E2B's API."""

    network: bool = Field(
        False, description="Without a file of keys: sandboxes of `serve pool` may have this machine's network."
    )


class DashboardSettings(Group):
    """Of the operators' dashboard."""

    enabled: bool = Field(
        True, description="Serve /dashboard, for operators: it shows answers, hidden tests and expected outputs."
    )
    token: str = Field(
        "", repr=False, description="What the dashboard asks for, where it is to be another secret than `token`."
    )
    memory_mb: float = Field(
        32,
        ge=0,
        description="MiB of memory for the latest verdicts, whole, so that the dashboard can show them and judge them"
        " again.",
    )

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: str) -> str:
        return must_be_sendable(token)
