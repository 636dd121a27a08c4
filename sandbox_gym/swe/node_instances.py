"""Instances on a cluster's nodes: what a node builds them with, and what the server asks the nodes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from sandbox_gym.codec import CodecError, decode, encode
from sandbox_gym.config import Settings
from sandbox_gym.errors import ProviderDown
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.api import BUILDER_IMAGE
from sandbox_gym.sandbox.session.builds import BuiltSnapshot
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.swe.building import Instance, instance_key
from sandbox_gym.swe.instances import Instances
from sandbox_gym.verifiers.swe import SweTask


class InstanceBuilder:
    """A node's. A request is a task, a record its instance."""

    def __init__(self, sessions: Sessions, settings: Settings) -> None:
        self._instances = Instances(sessions, disk_bytes=settings.swe.disk_mb * MIB)

    async def build(self, request: bytes) -> BuiltSnapshot:
        """As `Instances.ensure`."""
        return _built(await self._instances.ensure(decode(SweTask, request)))

    def kept(self) -> Sequence[BuiltSnapshot]:
        """Every instance that is built here."""
        return [_built(one) for one in self._instances.kept()]


def _built(instance: Instance) -> BuiltSnapshot:
    return BuiltSnapshot(instance.key, instance.snapshot_id, encode(instance), instance.snapshots[1:])


@runtime_checkable
class BuildsOnNodes(Protocol):
    """A cluster's sessions."""

    async def build(self, key: str, image: str, request: bytes) -> BuiltSnapshot: ...

    def built(self, snapshot_id: str) -> BuiltSnapshot | None: ...


class NodeInstances:
    """The server's: instances as the nodes have them."""

    def __init__(self, nodes: BuildsOnNodes) -> None:
        self._nodes = nodes

    async def ensure(self, task: SweTask) -> Instance:
        """As `Instances.ensure`, on some node."""
        built = await self._nodes.build(instance_key(task), task.image or BUILDER_IMAGE, encode(task))
        return _instance(built)

    def of_snapshot(self, snapshot_id: str) -> Instance | None:
        """The instance that a snapshot is."""
        built = self._nodes.built(snapshot_id)
        return _instance(built) if built is not None else None


def _instance(built: BuiltSnapshot) -> Instance:
    try:
        return decode(Instance, built.record)
    except CodecError as error:
        raise ProviderDown(f"a node's record of an instance makes no sense: {error}") from error
