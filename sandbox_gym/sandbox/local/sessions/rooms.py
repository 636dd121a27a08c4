"""Rooms: jails that each have a folder of this machine as their work folder, some started before they are needed.

A room's slot is empty until it is known what goes on in it; then layers are mounted into it (see stacks.py), so that
opening a session costs a mount and a fork.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.errors import BoxLost
from sandbox_gym.faults import is_of_machine, provider_down
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.local.files import STORED_UID
from sandbox_gym.sandbox.local.jails import Jails
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.local.sessions.slots import forget, live_folder, make_live, mark, own
from sandbox_gym.sandbox.local.sessions.trees import Trees
from sandbox_gym.sandbox.users import User

IMAGE: Final = "python"
"""What rooms are prepared for."""
ANSWER_S: Final = 5.0
"""Within which a room that was prepared has to answer before it is used."""
_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Room:
    """A jail, and the folder bound as its work folder."""

    machine: LocalMachine
    slot: Path


class Rooms:
    """The rooms of one state folder, which this process alone owns; raises ConfigurationError where another does."""

    def __init__(
        self, jails: Jails, root: Path, make_trees: Callable[[Path], Trees], *, home: str, prepared: int
    ) -> None:
        """`home`: where a room's folder is shown, as its user's home; empty: as a session's work folder. `prepared`:
        how many are kept ready."""
        self._jails, self._home, self._most_prepared = jails, home, prepared
        make_private(root)
        self._root, self._renewing = root, threading.Lock()
        self._lock = own(root)
        self.live = live_folder(root)
        self.trees = make_trees(self.live)
        self._prepared: list[Room] = []
        self._numbers = 0
        self._limiter = anyio.CapacityLimiter(4)

    async def in_thread(self, function: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(function, limiter=self._limiter)

    async def prepare(self) -> None:
        """Start rooms ahead of sessions, as many as are kept ready. Raises ProviderDown."""
        while len(self._prepared) < self._most_prepared:
            self._prepared.append(await self._make(IMAGE, network=False))

    async def take(self, image: str = IMAGE, *, network: bool = False) -> Room:
        """A room, prepared or new. `network`: with the machine's. Raises ProviderDown, ToolchainMissing."""
        while self._prepared and image == IMAGE and not network:
            room = self._prepared.pop()
            try:
                await room.machine.channel.ping(ANSWER_S)
                return room
            except BoxLost as error:
                _log.warning("prepared_sandbox_lost", why=str(error))
                await self._destroy(room)
            except BaseException:
                await self._destroy(room)
                raise
        return await self._make(image, network=network)

    async def _make(self, image: str, *, network: bool) -> Room:
        self._numbers += 1
        name = f"s{self._numbers}"
        user = self._jails.claim() if self.trees.own_users else User(STORED_UID)
        try:
            slot = await self.in_thread(lambda: self._slot(name, user.uid))
        except BaseException as error:  # a caller that gives up before the thread begins, too
            user.close()
            if not isinstance(error, Exception) or not is_of_machine(error):
                raise
            raise provider_down("a session has no folder", error) from error
        dispose = partial(self.in_thread, partial(self.trees.dispose, slot))
        try:
            machine = await self._jails.start(image, work=slot, home=self._home, network=network, user=user)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await dispose()
            raise
        machine.on_destroyed = dispose
        return Room(machine, slot)

    def _slot(self, name: str, uid: int) -> Path:
        """Blocking. Where /run or the state folder was emptied, what is needed there is made again: without the lock
        other servers would take this one for dead, and its slots for orphans."""
        with self._renewing:
            if not os.fstat(self._lock).st_nlink:
                _log.warning("state_folder_gone", folder=str(self._root))
                make_private(self._root)
                lock, self._lock = self._lock, own(self._root)
                os.close(lock)
            if not self.live.exists():
                mark(self.live, self._root)
                make_live(self.live)
                self.trees.renew()
        return self.trees.slot(name, uid)

    @staticmethod
    async def _destroy(room: Room) -> None:
        with anyio.CancelScope(shield=True):
            await room.machine.destroy()

    async def end_prepared(self) -> None:
        """End every room that was not taken."""
        rooms, self._prepared = self._prepared, []
        for room in rooms:
            await self._destroy(room)

    async def aclose(self) -> None:
        """Every mount and the lock. Idempotent."""
        lock, self._lock = self._lock, -1
        if lock < 0:
            return
        await self.end_prepared()
        await self.in_thread(self.trees.close)
        await self.in_thread(lambda: forget(self.live))
        os.close(lock)
