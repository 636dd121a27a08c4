"""The one list of providers. Adding one is a file, a line here, and the conformance suite passing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.network import Network
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.api import Provider
from sandbox_gym.sandbox.cleanup.reaper import SupportsReaping
from sandbox_gym.sandbox.cleanup.state_dir_orphans import StateLeftovers
from sandbox_gym.sandbox.session.snapshots import SessionProvider
from sandbox_gym.sandbox.users import Users


def _local(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.local import LocalProvider

    users = Users(settings.uid.base, settings.uid.count)
    return LocalProvider(settings.local.python, cgroup=settings.local.cgroup, state_dir=settings.state_dir, users=users)


def _docker(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.docker.provider import DockerProvider

    return DockerProvider(
        image_prefix=settings.docker.image_prefix,
        runtime=settings.docker.runtime,
        memory_bytes=settings.limits().memory_bytes,
        lifetime_s=settings.box.lifetime_s,
        state_dir=settings.state_dir,
        users=Users(settings.uid.base, settings.uid.count),
    )


def _e2b(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.e2b.limits import E2bOptions
    from sandbox_gym.sandbox.e2b.provider import E2bProvider

    options = E2bOptions(
        api_key=settings.e2b.api_key,
        domain=settings.e2b.domain,
        api_url=settings.e2b.api_url,
        templates=settings.e2b.templates,
        max_sandboxes=settings.e2b.max_sandboxes,
        creates_per_s=settings.e2b.creates_per_s,
        timeout_s=settings.e2b.timeout_s,
        lifetime_s=min(settings.e2b.lifetime_s, settings.box.lifetime_s),
        isolation=settings.e2b.isolation,
    )
    return E2bProvider(options, state_dir=settings.state_dir)


def _fake(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.fake import FakeProvider

    return FakeProvider()


_MAKERS: Mapping[str, Callable[[Settings], Provider]] = {"local": _local, "docker": _docker, "e2b": _e2b, "fake": _fake}
PROVIDERS = tuple(_MAKERS)


def make_session_provider(settings: Settings, provider: Provider, folder: Path) -> SessionProvider | None:
    """What opens sessions on `provider`, keeping their snapshots in `folder`; None where it can't hold any."""
    try:
        make_private(folder)
    except OSError as error:
        raise ConfigurationError(f"state_dir {settings.state_dir}: {error.strerror}; name another folder") from None
    network = Network(allow=tuple(settings.allow_out) or None)
    if provider.name == "local":
        from sandbox_gym.sandbox.local import LocalProvider
        from sandbox_gym.sandbox.local.sessions import LocalSessions

        assert isinstance(provider, LocalProvider)
        return LocalSessions(provider, folder, settings.session_limits(), network=network)
    if provider.name == "docker":
        from sandbox_gym.sandbox.docker.provider import DockerProvider
        from sandbox_gym.sandbox.docker.sessions import DockerSessions

        assert isinstance(provider, DockerProvider)
        return DockerSessions(provider, folder / "globals", network=network)
    if provider.name == "e2b":
        from sandbox_gym.sandbox.e2b.provider import E2bProvider
        from sandbox_gym.sandbox.e2b.sessions import E2bSessions

        assert isinstance(provider, E2bProvider)
        return E2bSessions(provider, folder / "snapshots", network=network)
    return None


def make_provider(settings: Settings) -> Provider:
    """The settings' provider. Raises ConfigurationError when this machine can't have it."""
    return _MAKERS[settings.provider](settings)


def reaping_sources(settings: Settings, providers: Sequence[Provider]) -> dict[str, SupportsReaping]:
    """Where orphans may be: the state folder, and each of `providers` that leaves things outside this process."""
    sources: dict[str, SupportsReaping] = {}
    for provider in providers:
        if isinstance(provider, SupportsReaping):
            sources[provider.name] = provider
    if any(provider.name == "local" for provider in providers):
        from sandbox_gym.sandbox.local.slots import SlotOrphans

        sources["local sessions"] = SlotOrphans()
    return {**sources, "state folder": StateLeftovers(settings.state_dir, lifetime_s=settings.box.lifetime_s)}
