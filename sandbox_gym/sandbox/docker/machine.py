"""A container as a sandbox's machine, and all that is asked of the Engine about one container."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, LossEvidence
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.docker.engine import CALL_TIMEOUT_S, Engine
from sandbox_gym.sandbox.users import User

if TYPE_CHECKING:
    from docker.models.containers import Container

GUEST_BYTES: Final = 64 * MIB
CPU_PERIOD_US: Final = 100_000


class Removals:
    """Removes containers, at last when the Engine answers again."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._unremoved: list[Container] = []

    async def remove(self, container: Container) -> None:
        """Kill and remove; a container that is gone already is fine. Where the Engine is down, `retry` does it."""
        try:
            with anyio.move_on_after(CALL_TIMEOUT_S):
                await self._engine.raw_call(lambda _client: container.remove(force=True, v=True))
        except self._engine.not_found:
            return
        except Exception:  # the Engine, or no thread here to ask it with
            self._unremoved.append(container)

    async def retry(self) -> None:
        """The Engine answers: remove what could not be removed while it did not."""
        unremoved, self._unremoved = self._unremoved, []
        for container in unremoved:
            await self.remove(container)


class DockerMachine:
    """See `machine.Machine`."""

    def __init__(
        self,
        engine: Engine,
        removals: Removals,
        container: Container,
        channel: GuestChannel,
        *,
        isolation: Isolation,
        user: User,
        memory_bytes: int,
        lifetime_s: float,
        guest_volume: bool = False,
    ) -> None:
        """`memory_bytes`: the limit that the container was made with. `guest_volume`: its guest's interpreter is not
        the image's."""
        self.box_id = str(container.id)[:12]
        self.isolation: Isolation = isolation
        self.channel, self.container, self.user = channel, container, user
        self.guest_volume = guest_volume
        self._engine, self._removals = engine, removals
        self._earlier_oom = False
        self._caps = (memory_bytes, Limits().cpus)
        self._expires_at = time.monotonic() + lifetime_s

    @property
    def expired(self) -> bool:
        """Whether its lifetime is over: soon its label lets other hosts' reapers take it for an orphan."""
        return time.monotonic() > self._expires_at

    @property
    def session_uid(self) -> int:
        """The user of its guest's first run, which a session is, and a run on a session's files."""
        return self.user.uid + 1

    async def set_limits(self, limits: Limits) -> None:
        """The container's memory and CPUs."""
        caps = (limits.memory_bytes, limits.cpus)
        if caps == self._caps:
            return
        total, quota = limits.memory_bytes + GUEST_BYTES, max(1000, round(limits.cpus * CPU_PERIOD_US))
        sizes = {"mem_limit": total, "memswap_limit": total, "cpu_period": CPU_PERIOD_US, "cpu_quota": quota}
        try:
            await self._engine.raw_call(lambda _client: self.container.update(**sizes))
        except self._engine.errors as error:
            raise BoxLost(f"container {self.container.id}: it can't be capped ({str(error)[:300]})") from error
        self._caps = caps

    def begin_task(self) -> bool:
        """A container that was OOM-killed is not reused: Docker keeps its OOMKilled flag, so a later task's kill could
        not be told apart."""
        self._earlier_oom = self._earlier_oom or self.channel.memory_limits > 0
        return not self.channel.reported_ooms

    async def evidence(self) -> LossEvidence:
        """What the Engine recorded of its end; nothing when it is gone or the Engine is down."""

        def state(_client: object) -> dict[str, Any]:
            self.container.reload()
            return dict(self.container.attrs["State"])

        try:
            found = await self._engine.raw_call(state)
        except self._engine.errors as error:
            return LossEvidence(detail=f"the Engine does not know it: {str(error)[:200]}")
        detail = f"{found.get('Status')}, exit code {found.get('ExitCode')}"
        evidence = LossEvidence(oom_kills=int(found.get("OOMKilled") is True), detail=detail)
        # the Engine's flag stays up for good, and an earlier task may have raised it
        return replace(evidence, oom_kills=0) if self._earlier_oom else evidence

    async def pid(self) -> int:
        """Its first process, as the Engine's machine numbers it. Raises ProviderDown."""
        found = await self._engine.call(lambda client: client.api.inspect_container(self.container.id))
        return int(found["State"]["Pid"])

    async def destroy(self) -> None:
        await self.channel.aclose()
        await self._removals.remove(self.container)
        self.user.close()
