"""A fleet within this process: nodes that share its event loop. For tests, ours and users', and for a look at it.

Everything crosses in the same messages as over Ray. A node can be lost, and can be made to hang.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import anyio
import anyio.abc

from sandbox_gym.cluster.messages import NodeLost
from sandbox_gym.cluster.node import Node

OpenNode = Callable[[], AbstractAsyncContextManager[Node]]


class InProcessFleet:
    """Nodes by name, each made by its own function. `tasks` holds those that run."""

    def __init__(self, tasks: anyio.abc.TaskGroup, nodes: dict[str, OpenNode]) -> None:
        self._tasks, self._nodes = tasks, nodes
        self._links: dict[str, InProcessLink] = {}
        self._hung: set[str] = set()

    async def nodes(self) -> Sequence[str]:
        return list(self._nodes)

    async def open(self, node: str) -> InProcessLink:
        """See `fleet.Fleet`."""
        link = self._links[node] = InProcessLink(self, node)
        await self._tasks.start(link.run, self._nodes[node])
        return link

    def link(self, node: str) -> InProcessLink:
        """The latest way to a node."""
        return self._links[node]

    def add(self, node: str, make: OpenNode) -> None:
        """A machine more."""
        self._nodes[node] = make

    def lose(self, node: str) -> None:
        """The machine is gone, with all that runs there."""
        del self._nodes[node]
        self._links[node].scope.cancel()

    def hang(self, node: str) -> None:
        """The machine answers nothing from now on."""
        self._hung.add(node)

    def hangs(self, node: str) -> bool:
        """Whether it was made to."""
        return node in self._hung


class InProcessLink:
    """A way to one of them."""

    def __init__(self, fleet: InProcessFleet, name: str) -> None:
        self._fleet, self._name = fleet, name
        self.scope = anyio.CancelScope()
        self._node: Node | None = None
        self._lost, self._ended = anyio.Event(), anyio.Event()

    async def run(self, make: OpenNode, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """The node's own life, until it is lost or closed."""
        try:
            with self.scope:
                async with make() as self._node:
                    task_status.started()
                    try:
                        await anyio.sleep_forever()
                    finally:
                        self._node = None
                        self._lost.set()
        finally:
            self._lost.set()
            self._ended.set()

    async def ask(self, operation: str, message: bytes) -> bytes:
        """See `fleet.NodeLink`."""
        node = self._node
        if node is None:
            raise NodeLost(f"{self._name} is gone")
        if self._fleet.hangs(self._name):
            await anyio.sleep_forever()
        answer: list[bytes] = []

        async def ask() -> None:
            answer.append(await node.answer(operation, message))
            tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self._lost.wait()
            tasks.cancel_scope.cancel()
        if not answer:
            raise NodeLost(f"{self._name} is gone")
        if self._fleet.hangs(self._name):
            await anyio.sleep_forever()
        return answer[0]

    async def aclose(self, *, lost: bool = False) -> None:
        """See `fleet.NodeLink`."""
        self.scope.cancel()
        await self._ended.wait()
