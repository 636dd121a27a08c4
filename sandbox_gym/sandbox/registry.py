"""The one list of providers. Adding one is a file, a line here, and the conformance suite passing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sandbox_gym.config import Settings
from sandbox_gym.sandbox.api import Provider


def _local(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.local import LocalProvider

    return LocalProvider(settings.local_python, cgroup=settings.local_cgroup)


def _docker(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.docker import DockerProvider

    return DockerProvider(
        image_prefix=settings.docker_image_prefix,
        runtime=settings.docker_runtime,
        memory_bytes=settings.limits().memory_bytes,
    )


def _fake(settings: Settings) -> Provider:
    from sandbox_gym.sandbox.fake import FakeProvider

    return FakeProvider()


_MAKERS: Mapping[str, Callable[[Settings], Provider]] = {"local": _local, "docker": _docker, "fake": _fake}
PROVIDERS = tuple(_MAKERS)


def make_provider(settings: Settings) -> Provider:
    """The settings' provider. Raises ConfigurationError when this machine can't have it."""
    return _MAKERS[settings.provider](settings)
