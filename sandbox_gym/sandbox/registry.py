"""The one list of providers. Adding one is a folder, a line here, and the conformance suite passing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Final, Protocol, cast

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.limits import Policy
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.api import Capabilities, Provider, SessionFolder
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.cleanup.state_dir_orphans import StateDirOrphans

_MODULES: Final[Mapping[str, str]] = {
    "local": "sandbox_gym.sandbox.local.provider",
    "docker": "sandbox_gym.sandbox.docker.provider",
    "podman": "sandbox_gym.sandbox.podman.provider",
    "e2b": "sandbox_gym.sandbox.e2b.provider",
    "fake": "sandbox_gym.sandbox.fake",
}
PROVIDERS: Final = tuple(_MODULES)


class _ProviderModule(Protocol):
    """What each of the modules has; it is imported when its provider is asked for."""

    capabilities: Callable[[Settings], Capabilities]
    from_settings: Callable[[Settings, SessionFolder | None], Provider]


def _module(name: str) -> _ProviderModule:
    try:
        return cast(_ProviderModule, import_module(_MODULES[name]))
    except KeyError:
        raise ConfigurationError(f"provider {name!r} is none; use one of {', '.join(PROVIDERS)}") from None


def check_system() -> None:
    """Raises ConfigurationError where no sandbox has an owner: locks, caps and processes are read as Linux has them."""
    if sys.platform != "linux":
        raise ConfigurationError(f"sandboxes are made on Linux, and this is {sys.platform}; ask a server on Linux")


def capabilities_of(settings: Settings) -> Capabilities:
    """What the settings' provider can do, without making it. Raises ConfigurationError for a name that is none."""
    return _module(settings.provider).capabilities(settings)


def session_policy(settings: Settings) -> Policy:
    """How sessions are held; where an account bounds the sandboxes, sessions leave those that verifies need."""
    policy, can = settings.session_policy(), capabilities_of(settings)
    policy, most = replace(policy, root=policy.root and can.root), can.max_sandboxes
    return policy if most is None else replace(policy, live=max(1, min(policy.live, most - settings.boxes)))


def make_provider(settings: Settings, sessions: SessionFolder | None = None) -> Provider:
    """The settings' provider; it holds sessions too where it can and is given a folder for them. Raises
    ConfigurationError when this machine can't have it."""
    check_system()
    if sessions is not None:
        try:
            make_private(sessions.folder)
        except OSError as error:
            raise ConfigurationError(f"state_dir {settings.state_dir}: {error.strerror}; name another folder") from None
    return _module(settings.provider).from_settings(settings, sessions)


def orphan_sources(settings: Settings, providers: Sequence[Provider]) -> dict[str, OrphanSource]:
    """Where orphans may be: the state folder, and what `providers` leave outside of this process."""
    sources = {name: source for provider in providers for name, source in provider.orphan_sources.items()}
    return {**sources, "state folder": StateDirOrphans(settings.state_dir, lifetime_s=settings.box.lifetime_s)}
