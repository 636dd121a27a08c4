"""A server's dashboard from its settings."""

from __future__ import annotations

import ipaddress

from sandbox_gym.config import Settings
from sandbox_gym.limits import MIB
from sandbox_gym.server.dashboard.app import Dashboard, Picture
from sandbox_gym.server.dashboard.door import Door
from sandbox_gym.server.dashboard.live import ServerPicture
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.dashboard.verdicts import Verdicts

_REMEDY = "set SANDBOX_GYM_DASHBOARD_TOKEN (or SANDBOX_GYM_TOKEN) and log in with it"


def server_dashboard(name: str, kind: str, settings: Settings) -> tuple[Dashboard, ServerPicture, Verdicts] | None:
    """Of a resources server; None where the settings want none."""
    if not settings.dashboard:
        return None
    recent = Recent(settings.dashboard_memory_mb * MIB)
    picture, verdicts = ServerPicture(name, kind, recent), Verdicts(recent)
    return Dashboard(door_of(settings), picture.document, verdicts), picture, verdicts


def pool_dashboard(settings: Settings, picture: Picture, *, keys_only: bool) -> Dashboard | None:
    """Of the pool's server. `keys_only`: there are tenants' keys, and no token of the operator's."""
    if not settings.dashboard:
        return None
    return Dashboard(door_of(settings, keys_only=keys_only), picture)


def door_of(settings: Settings, *, keys_only: bool = False) -> Door:
    """Without any token the dashboard is for this machine's own users: a server that others reach keeps it shut."""
    token = settings.dashboard_token or settings.token
    shut = not token and (keys_only or not is_loopback(settings.host))
    closed = f"the dashboard shows hidden tests, and this server asks nobody for a token: {_REMEDY}" if shut else ""
    return Door(token, settings.port, closed=closed)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what binds there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
