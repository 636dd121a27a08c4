"""Starts local sandboxes' jails: group, channel, user and guest, all of them or none."""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import Process

from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown
from sandbox_gym.faults import as_provider_down
from sandbox_gym.guest.runs import sudo
from sandbox_gym.sandbox.channel.bundle import guest_bundle
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.guest_config import GuestConfig
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream
from sandbox_gym.sandbox.cleanup.owner import this_owner
from sandbox_gym.sandbox.local.cgroups import Cgroups, Group
from sandbox_gym.sandbox.local.compilers import PreparedCompilers
from sandbox_gym.sandbox.local.jail import BIN, Jail
from sandbox_gym.sandbox.local.machine import LocalMachine, remove_group
from sandbox_gym.sandbox.local.site_packages import SitePackages
from sandbox_gym.sandbox.local.surroundings import find_bubblewrap, refusal
from sandbox_gym.sandbox.processes import kill_session, start_process
from sandbox_gym.sandbox.pythons import kept_folder
from sandbox_gym.sandbox.users import User, Users

RUN_WORK = "/scratch/work"
"""Where a program of a box that is no session's runs."""
_numbers = itertools.count()


def _accounts(home: str, named: bool, network: bool, held: contextlib.ExitStack) -> tuple[tuple[int, str], ...]:
    """Descriptors of a passwd and a group file that call the box's user "user", closed with `held`. A `named` one also
    finds what stands for a sudo; `network`: this machine's hosts are there."""
    contents = {
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nuser:x:1000:1000::{home}:/bin/bash\n",
        "/etc/group": "root:x:0:\nuser:x:1000:\n",
    }
    if not network:
        contents["/etc/hosts"] = "127.0.0.1 localhost box\n::1 localhost\n"
    if named:
        contents[f"{BIN}/sudo"] = sudo.SCRIPT
    made = []
    for path, text in contents.items():
        fd = os.memfd_create("account")
        made.append((held.enter_context(_closing(fd)), path))
        os.write(fd, text.encode())
        os.lseek(fd, 0, os.SEEK_SET)
    return tuple(made)


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[int]:
    """A descriptor, closed at the end."""
    try:
        yield fd
    finally:
        os.close(fd)


async def _remove_now(group: Group) -> None:
    with anyio.CancelScope(shield=True):
        await remove_group(group)


class Jails:
    """Starts jails. Raises ConfigurationError when bubblewrap or the kernel won't."""

    def __init__(
        self,
        python: Path,
        cgroups: Cgroups | None,
        packages: SitePackages,
        users: Users,
        compilers: PreparedCompilers | None = None,
    ) -> None:
        """`users`: of which jails have their own, as root."""
        bwrap = find_bubblewrap()
        if not (python.is_file() and os.access(python, os.X_OK)):
            what = "is no program" if python.exists() else "does not exist"
            raise ConfigurationError(f"local_python is {python}, which {what}; name an interpreter")
        self.bwrap, self._python, self.cgroups, self._packages = bwrap, python, cgroups, packages
        self._users, self._compilers = users, compilers

    def claim(self) -> User:
        """A user of this machine for a jail; the server's own where it is not root. Raises ProviderDown."""
        return self._users.claim() if os.geteuid() == 0 else User(0)

    async def start(
        self, image: str, *, work: Path | None = None, home: str = "", network: bool = False, user: User | None = None
    ) -> LocalMachine:
        """A jail with its guest saying hello. Local boxes know one image, this machine; some names bring packages of
        the server's own environment with them. `work`: a session's folder, shown at `home`, which is then also the
        home of a named user; without one at /workspace. `network`: only to build what others begin with. `user`: who
        the box runs as, from now on its own to give back. Raises ProviderDown, ToolchainMissing."""
        user = user or self.claim()
        try:
            with as_provider_down("a jail can't be made"):
                site = await self._packages.ready(image)
                compilers = await self._prepared_compilers(image)
                bundle = await anyio.to_thread.run_sync(guest_bundle, self._python)
                machine = await self._jailed(site, compilers, work, home, network=network, user=user)
        except BaseException:
            user.close()
            raise
        try:
            await machine.channel.handshake(
                GuestConfig(
                    tier="namespaces",
                    cgroup=machine.counters_at,
                    dirs=(),
                    uid_base=0,
                    limit_data=not machine.grouped,
                    sessions=work is not None,
                    own_network=work is None and not network,  # into a session's a proxy is put from outside
                ),
                bundle,
            )
        except BaseException as error:
            message = await machine.last_words() if isinstance(error, BoxLost) else ""
            with anyio.CancelScope(shield=True):
                await machine.destroy()
            if isinstance(error, BoxLost):
                raise refusal(message) or ProviderDown(f"a jail did not start: {message or error}") from error
            raise
        return machine

    async def _prepared_compilers(self, image: str) -> Path | None:
        if self._compilers is None:
            return None
        return await anyio.to_thread.run_sync(self._compilers.for_image, image)

    async def _jailed(
        self, site: Path | None, compilers: Path | None, work: Path | None, home: str, *, network: bool, user: User
    ) -> LocalMachine:
        """A jail whose guest has not said anything yet. Raises OSError and ProviderDown, and leaves nothing then."""
        number = next(_numbers)
        async with contextlib.AsyncExitStack() as undo:
            group = self._make_group(f"{this_owner()}-{number}")
            if group is not None:
                undo.push_async_callback(_remove_now, group)
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            with contextlib.ExitStack() as held:
                held.callback(theirs.close)
                ours.setblocking(False)
                shown = home or (RUN_WORK if work is None else WORK)
                accounts = _accounts(shown, bool(home), network, held)
                jail = Jail(
                    bwrap=self.bwrap,
                    python=self._python,
                    channel_fd=theirs.fileno(),
                    cgroup_folders=_evidence(group),
                    uid=user.uid,
                    procs_files=group.procs_files if group else (),
                    work=work,
                    home=home or "/workspace",
                    accounts=accounts,
                    site=site,
                    pythons=kept_folder(),
                    compilers=compilers,
                    network=network,
                    owner=str(this_owner()),
                )
                # the guest holds its user too: no other sandbox gets it while a process of a killed server's lives
                held_user = [user.fd] if user.fd >= 0 else []
                process = await _open(jail, [theirs.fileno(), *(fd for fd, _path in accounts), *held_user])
            undo.push_async_callback(_end, process)
            # no wait between here and the return: from here on the box owns what must be closed
            box_id = f"{os.getpid()}-{number}"
            channel = GuestChannel(RawSocketStream(ours), lambda: f"local sandbox {box_id}")
            machine = LocalMachine(box_id, process, channel, group, user)
            undo.pop_all()
            return machine

    def _make_group(self, name: str) -> Group | None:
        if self.cgroups is None:
            return None
        try:
            return self.cgroups.make(name)
        except OSError as error:
            raise ProviderDown(f"can't make a cgroup: {error}") from error


def _evidence(group: Group | None) -> tuple[tuple[str, str], ...]:
    """What the supervisor sees of a box's group, and in v2, whose group does not tell which cap refused it a process,
    of those above it."""
    if group is None:
        return ()
    if group.version == 1:
        return tuple((str(folder), name) for name, folder in group.folders.items())
    own = group.folders["memory"]
    above = [folder for folder in own.parents if (folder / "pids.events.local").exists()]
    return ((str(own), "own"), *((str(folder), f"above/{number}") for number, folder in enumerate(above)))


async def _end(process: Process) -> None:
    """A jail that no box came of."""
    with anyio.CancelScope(shield=True), anyio.move_on_after(10):
        if process.returncode is None:
            kill_session(process)
        await process.wait()
        await process.aclose()


async def _open(jail: Jail, inherited: Sequence[int]) -> Process:
    """The jail's outermost process. Raises ProviderDown."""
    try:
        return await start_process(
            jail.argv(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=jail.environment(),
            pass_fds=inherited,
            cwd="/",
        )
    except OSError as error:
        raise ProviderDown(f"can't start a jail: {error}") from error
