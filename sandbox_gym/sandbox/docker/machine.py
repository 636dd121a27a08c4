"""What is asked of the Engine about one container."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import anyio

from sandbox_gym.errors import LossEvidence, ProviderDown
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.strain import Strain
from sandbox_gym.sandbox.containers.container import Sizes
from sandbox_gym.sandbox.containers.machine import ContainerFacts, ContainerMachine, Removals
from sandbox_gym.sandbox.docker.engine import CALL_TIMEOUT_S, Engine

if TYPE_CHECKING:
    from docker.models.containers import Container

ENDING_S = 10.0
FREEZES = 3
"""Tries: one fails where the container starts processes faster than the kernel stops them."""


def size_options(sizes: Sizes) -> dict[str, int]:
    """As the Engine is told them."""
    memory, period, quota = sizes
    return {"mem_limit": memory, "memswap_limit": memory, "cpu_period": period, "cpu_quota": quota}


class DockerMachine(ContainerMachine):
    """A container of a Docker Engine."""

    def __init__(
        self,
        engine: Engine,
        removals: Removals[str],
        container: Container,
        channel: GuestChannel,
        facts: ContainerFacts,
    ) -> None:
        super().__init__(channel, facts)
        self.container = container
        self._engine, self._removals = engine, removals
        self._frozen = False

    async def resize(self, sizes: Sizes) -> None:
        await self._engine.call(lambda _client: self.container.update(**size_options(sizes)))

    async def state(self) -> Mapping[str, object]:
        found = await self._engine.call(lambda client: client.api.inspect_container(self.container.id))
        return cast("dict[str, object]", found["State"])

    async def strain(self) -> Strain:
        try:
            found = await self._engine.ask(
                lambda client: client.api.stats(self.container.id, stream=False, one_shot=True)
            )
            cpu, tasks = found["cpu_stats"], found["pids_stats"]
            return Strain(
                int(cpu["throttling_data"]["throttled_periods"]),
                int(cpu["cpu_usage"]["total_usage"]) / 1e9,
                int(tasks.get("current", 0)),
                int(tasks.get("limit", 0)),
            )
        except (ProviderDown, KeyError, TypeError, ValueError, AttributeError):
            return Strain()

    async def evidence(self) -> LossEvidence:
        if self.channel.ended:  # which the Engine learns a moment later than we
            with contextlib.suppress(ProviderDown):
                await self._engine.call(lambda _client: self.container.wait(timeout=ENDING_S))
        return await super().evidence()

    async def freeze(self) -> bool:
        """See `sandbox.Standstill`."""
        for left in reversed(range(FREEZES)):
            try:
                await self._engine.call(lambda _client: self.container.pause())
                break
            except ProviderDown:
                if not left:
                    raise
        self._frozen = True
        return True

    async def thaw(self) -> None:
        """See `sandbox.Standstill`."""
        await self._engine.call(lambda _client: self.container.unpause())
        self._frozen = False

    async def remove(self) -> None:
        if self._frozen:  # some engines kill no process that stands still
            with contextlib.suppress(ProviderDown):
                await self.thaw()
        await self._removals.remove(str(self.container.id))


def removals(engine: Engine) -> Removals[str]:
    """Of containers of an Engine, which may be down meanwhile, by id or name."""

    async def remove(container: str) -> None:
        with anyio.move_on_after(CALL_TIMEOUT_S):
            try:
                await engine.raw_call(lambda client: client.api.remove_container(container, force=True, v=True))
            except engine.not_found:
                return
            except engine.errors as error:
                raise ProviderDown(f"the Docker Engine refused: {str(error)[:500]}") from error

    return Removals(remove)
