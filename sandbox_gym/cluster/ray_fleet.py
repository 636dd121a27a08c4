"""The fleet over Ray: one actor on each node of a cluster. The only file that imports Ray.

What crosses is bytes of ours, in and out. The actors belong to the server: they end with it, and so do their sandboxes.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.cluster.engine import open_cluster
from sandbox_gym.cluster.membership import Pace
from sandbox_gym.cluster.messages import NodeLost, NodeRefused
from sandbox_gym.cluster.pool_actor import PoolActor
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.session.builds import MakeBuilder

NAMESPACE: Final = "sandbox_gym"
RESOURCE: Final = "sandbox_gym"
"""Where any node has this resource (`ray start --resources '{"sandbox_gym": 1}'`), only those that have it are used."""
CALLS_AT_ONCE: Final = 10_000
ASK_FLEET_S: Final = 10.0
_NOT_FOR_NODES: Final = {
    *("token", "keys", "dashboard", "judge", "journal", "host", "port", "cluster"),
    *("allow_unauthenticated", "allowed_hosts", "tenant_weights"),
}
_log = structlog.get_logger(__name__)


class RayFleet:
    """The nodes of the cluster that this process is a driver of. `server`: whose sessions the nodes hold."""

    def __init__(self, settings: Settings, server: str, make_builder: MakeBuilder | None = None) -> None:
        self._settings = node_settings(settings)
        self._server, self._make_builder = server, make_builder
        self._ids: dict[str, str] = {}
        self._numbers = itertools.count(1)

    async def nodes(self) -> Sequence[str]:
        """See `fleet.Fleet`: address and the beginning of its id."""
        import ray

        try:
            with anyio.fail_after(ASK_FLEET_S):
                found = await anyio.to_thread.run_sync(ray.nodes, abandon_on_cancel=True)
        except (TimeoutError, ray.exceptions.RayError, ConnectionError) as error:
            raise NodeLost(f"the cluster's head does not answer: {error}") from error
        alive = [each for each in found if each["Alive"]]
        chosen = [each for each in alive if RESOURCE in each["Resources"]] or alive
        self._ids = {f"{each['NodeManagerAddress']}/{each['NodeID'][:12]}": each["NodeID"] for each in chosen}
        return list(self._ids)

    async def open(self, node: str) -> RayLink:
        """See `fleet.Fleet`."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if node not in self._ids:
            raise NodeLost(f"{node} is no node of the cluster")
        options: dict[str, Any] = {
            "name": f"{self._server}|{node}|{os.getpid()}-{next(self._numbers)}",
            "namespace": NAMESPACE,
            "num_cpus": 0,
            "max_concurrency": CALLS_AT_ONCE,
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(self._ids[node], soft=False),
        }
        if os.environ.get("NEMO_GYM_CONFIG_PATH"):  # its raylets have NeMo Gym's environment, not this server's
            options["runtime_env"] = {"py_executable": sys.executable}
        try:
            pool: Any = ray.remote(PoolActor).options(**options)
            actor = pool.remote(self._settings, self._server, self._make_builder)
            actor.run.remote()
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise NodeLost(f"no pool can be started on {node}: {error}") from error
        return RayLink(actor, node)


class RayLink:
    """A way to one actor."""

    def __init__(self, actor: Any, node: str) -> None:  # Ray's types know no `remote` of a method
        self._actor, self._node = actor, node

    async def ask(self, operation: str, message: bytes) -> bytes:
        """See `fleet.NodeLink`."""
        import ray

        try:
            answer = await self._actor.answer.remote(operation, message)
        except ray.exceptions.RayTaskError as error:
            raise NodeRefused(f"{self._node}: unexpected error: {str(error)[-500:]}") from error
        except (ray.exceptions.RayError, ConnectionError) as error:
            raise NodeLost(f"{self._node}: {type(error).__name__}: {str(error)[:300]}") from error
        if type(answer) is not bytes:
            raise NodeLost(f"{self._node} answered with a {type(answer).__name__}")
        return answer

    async def aclose(self, *, lost: bool = False) -> None:
        """See `fleet.NodeLink`."""
        import ray

        try:
            with suppress(ray.exceptions.RayError, ConnectionError):
                if not lost:
                    await self._actor.stop.remote()
        finally:
            with suppress(ray.exceptions.RayError, ConnectionError, ValueError):
                ray.kill(self._actor)


def node_settings(settings: Settings) -> bytes:
    """What was set here and concerns sandboxes, as JSON; the rest is each node's own. Secrets of the server stay."""
    return settings.model_dump_json(exclude_unset=True, exclude=_NOT_FOR_NODES).encode()


def check_ray() -> None:
    """Raises ConfigurationError where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ConfigurationError("a cluster needs Ray: pip install 'sandbox-gym[ray]'")


def _use_token() -> None:
    """Before Ray is imported: have it show the cluster a token where there is one; by itself it does not."""
    named = any(os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"))
    if "RAY_AUTH_MODE" not in os.environ and (named or (Path.home() / ".ray" / "auth_token").is_file()):
        os.environ["RAY_AUTH_MODE"] = "token"
    if os.environ.get("RAY_AUTH_MODE") != "token":
        why = "any client that reaches the cluster's ports can run code on its nodes"
        _log.warning("cluster_without_token", why=why, remedy="ray get-auth-token --generate, RAY_AUTH_MODE=token")


@asynccontextmanager
async def open_on_ray(
    settings: Settings, *, sessions: str, make_builder: MakeBuilder | None = None
) -> AsyncIterator[Engine]:
    """An engine over the settings' cluster; its pools end with it. Raises ConfigurationError."""
    fleet = RayFleet(settings, sessions, make_builder)
    pace = Pace(lost_s=settings.cluster.lost_s)
    async with joined(settings.cluster.address), open_cluster(fleet, settings, pace=pace) as engine:
        yield engine


@asynccontextmanager
async def joined(address: str) -> AsyncIterator[None]:
    """Be a driver of the cluster at `address`, or `auto`: RAY_ADDRESS, NeMo Gym's, or the one of this machine.

    Raises ConfigurationError where there is none, or it refuses this server.
    """
    check_ray()
    _use_token()
    import ray

    def join() -> None:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)

    if ray.is_initialized():
        raise ConfigurationError("this process is a driver of a Ray cluster already")
    try:
        await anyio.to_thread.run_sync(join)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise ConfigurationError(f"cluster {address!r}: {str(error)[:500]}") from error
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(ray.shutdown)


def pools() -> Mapping[str, RayLink]:
    """A way to every server's pool on this cluster, by its name: `<server>|<node>|<number>`."""
    import ray
    from ray.util import list_named_actors

    found = {}
    for each in list_named_actors(all_namespaces=True):
        if each["namespace"] == NAMESPACE:
            with suppress(ValueError):  # it ended meanwhile
                found[each["name"]] = RayLink(ray.get_actor(each["name"], NAMESPACE), each["name"])
    return found
