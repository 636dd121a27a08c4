"""From a specification to a container whose guest has said hello. How an engine starts one is its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import anyio

from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.containers.container import ContainerOptions, ContainerSpec, claim, guest_config
from sandbox_gym.sandbox.containers.machine import ContainerMachine, Removals
from sandbox_gym.sandbox.users import User, Users

M = TypeVar("M", bound=ContainerMachine)


class Containers(ABC, Generic[M]):
    """Starts containers of any image; of our own with their Python."""

    def __init__(self, options: ContainerOptions, users: Users, removals: Removals[Any]) -> None:
        """`users`: of which containers have their own."""
        self.options, self.removals, self._users = options, removals, users

    @abstractmethod
    async def begin(self, spec: ContainerSpec, user: User) -> M:
        """A container whose guest was started. Raises ProviderDown; nothing is left then."""

    async def root_guest(self, machine: M) -> GuestChannel:
        """A second guest in a container, whose programs are the container's root. Raises ProviderDown, BoxLost."""
        raise ProviderDown("containers of this engine have no second guest")

    async def start(self, spec: ContainerSpec) -> M:
        """Raises ProviderDown."""
        user = claim(self._users, spec.uid)
        try:
            return await self.begin(spec, user)
        except BaseException:
            user.close()
            raise


async def greet(machine: ContainerMachine, spec: ContainerSpec, why_not: Callable[[], Awaitable[str]]) -> None:
    """Wait for the guest's hello. `why_not`: what is known of a container that gave none, and is removed. Raises
    ProviderDown."""
    try:
        await machine.channel.handshake(guest_config(spec, machine.user))
    except BaseException as error:
        with anyio.CancelScope(shield=True):
            why = await why_not() if isinstance(error, BoxLost) else ""
            await machine.destroy()
        if isinstance(error, BoxLost):
            raise ProviderDown(f"a container did not start its guest: {error} {why}".rstrip()) from error
        raise
