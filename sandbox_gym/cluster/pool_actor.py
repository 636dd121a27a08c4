"""What Ray starts on a node: the node, as long as the actor lives, and how it is asked. Imports nothing of Ray."""

from __future__ import annotations

import json
import sys

import anyio
import structlog

from sandbox_gym.cluster.messages import NodeLost, failure_reply
from sandbox_gym.cluster.node import Node, open_node
from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError, SandboxGymError, Unavailable
from sandbox_gym.observe.tracebacks import without_locals
from sandbox_gym.sandbox.session.builds import MakeBuilder

_log = structlog.get_logger(__name__)


class PoolActor:
    """The actor. `run` is its life; `answer` waits until it has begun."""

    def __init__(self, settings_json: bytes, server: str, make_builder: MakeBuilder | None = None) -> None:
        processors = without_locals(structlog.get_config()["processors"])
        structlog.configure(processors=processors, logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
        self._settings_json, self._server, self._make_builder = settings_json, server, make_builder
        self._begun, self._ending, self._ended = anyio.Event(), anyio.Event(), anyio.Event()
        self._node: Node | None = None
        self._failure = failure_reply(NodeLost("the pool has ended"))

    async def run(self) -> None:
        """Hold the node until `stop`."""
        try:
            settings, make_builder = self._settings(), self._make_builder
            async with open_node(settings, sessions=self._server, make_builder=make_builder) as self._node:
                self._begun.set()
                await self._ending.wait()
                self._node = None  # what is asked from now on is for others
        except* SandboxGymError as group:
            self._failure = failure_reply(_first(group))
        except* Exception as group:  # a background task died: the server hears it, and opens another pool here
            why = _first(group)
            _log.error("node_pool_failed", exc_info=group)
            self._failure = failure_reply(NodeLost(f"the pool failed: {str(why)[:300]}"))
        finally:
            self._node = None
            self._begun.set()
            self._ended.set()

    def _settings(self) -> Settings:
        """Those that the server sent, on top of the node's own. Raises Unavailable: another node may have better."""
        try:
            return Settings.from_flat(json.loads(self._settings_json))
        except ConfigurationError as error:
            raise Unavailable(f"the node's own settings: {error}") from None

    async def answer(self, operation: str, message: bytes) -> bytes:
        """The reply to a message."""
        await self._begun.wait()
        return self._failure if self._node is None else await self._node.answer(operation, message)

    async def stop(self) -> None:
        """End in peace; everything of it is gone when this returns."""
        self._ending.set()
        await self._ended.wait()


def _first(group: BaseExceptionGroup[BaseException]) -> SandboxGymError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error if isinstance(error, SandboxGymError) else Unavailable(str(error))
