"""Boxes as bubblewrap jails on this machine."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Literal

import anyio
from anyio.abc import Process, UNIXSocketStream

from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run
from sandbox_gym.errors import BoxLost, ConfigurationError, LossEvidence, ProviderDown
from sandbox_gym.faults import as_provider_down
from sandbox_gym.guest.runs import sudo
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Box, Capability
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.channel.attached_run import Relay
from sandbox_gym.sandbox.channel.dialogue import converse
from sandbox_gym.sandbox.channel.guest_channel import GuestConfig, GuestLink
from sandbox_gym.sandbox.cleanup.owner import Owners, this_owner
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.local.caps import local_caps
from sandbox_gym.sandbox.local.cgroups import Cgroups, Group, cgroups_or_reason
from sandbox_gym.sandbox.local.jail import BIN, Jail
from sandbox_gym.sandbox.local.orphans import LocalOrphans
from sandbox_gym.sandbox.local.pythons import kept_folder
from sandbox_gym.sandbox.local.site_packages import Sites
from sandbox_gym.sandbox.users import User, Users

GUEST_BYTES = 48 * MIB
"""What the supervisor and its zygote may use beside the program."""
GUEST_PROCESSES = 8

CgroupPolicy = Literal["auto", "require", "never"]

_numbers = itertools.count()


class LocalBox:
    """A jail, its guest's link and its cgroup."""

    isolation: Isolation = "namespace"

    def __init__(self, box_id: str, process: Process, link: GuestLink, group: Group | None, user: User) -> None:
        self.box_id = box_id
        self.link = link
        self._process = process
        self._pidfd = _open_pidfd(process.pid)
        self._earlier = (0, 0, 0)
        self._group = group
        self._user = user
        self._caps = (0, 0, 0.0)

    @property
    def pid(self) -> int:
        """The jail's outermost process on this machine."""
        return self._process.pid

    def pids(self) -> set[int]:
        """Every process of the box on this machine; none where it has no group."""
        return self._group.pids() if self._group is not None else set()

    def run_all(self, runs: Sequence[Run]) -> AbstractAsyncContextManager[AsyncIterator[Outcome]]:
        self.cap(runs)
        return self.link.run_all(runs)

    async def converse(self, dialogue: Dialogue, candidate_box: Box) -> DialogueOutcome:
        if not isinstance(candidate_box, LocalBox):
            raise BoxLost(f"{candidate_box.box_id} is no local box")
        self.cap([dialogue.asker])
        candidate_box.cap([dialogue.candidate])
        return await converse(self.link, candidate_box.link, dialogue)

    def cap(self, runs: Sequence[Run]) -> None:
        """Set the group to the largest of the runs' limits; runs of one task share theirs."""
        if self._group is None or not runs:
            return
        memory = max(run.limits.memory_bytes for run in runs)
        processes = max(run.limits.processes for run in runs)
        cpus = max(run.limits.cpus for run in runs)
        if (memory, processes, cpus) != self._caps:
            self._caps = (memory, processes, cpus)
            try:
                self._group.forget_peak()
                self._group.limit(memory + GUEST_BYTES, processes + GUEST_PROCESSES, cpus)
            except OSError as error:
                raise BoxLost(f"{self.box_id}: its cgroup can't be set ({error})") from error

    async def relay(self, run: Run) -> Relay:
        self.cap([run])
        relay = Relay(self.link, run)
        await relay.start()
        return relay

    async def reset(self) -> bool:
        clean = await self.link.reset()
        if self._group is not None:
            self._group.forget_peak()
        self._earlier = self._counters()
        return clean

    async def evidence(self) -> LossEvidence:
        if self._group is None:
            return LossEvidence(detail="no cgroup")
        kills, full, cap_hits = (now - then for now, then in zip(self._counters(), self._earlier, strict=True))
        if kills and not full:
            return LossEvidence(0, cap_hits, f"{kills} processes killed for memory that was short above the sandbox")
        return LossEvidence(kills, cap_hits)

    def _counters(self) -> tuple[int, int, int]:
        """What the box's group has counted since it was made: OOM kills, times at its memory cap, forks refused."""
        if self._group is None:
            return (0, 0, 0)
        return self._group.oom_kills(), self._group.times_full(), self._group.process_cap_hits()

    @property
    def counters_at(self) -> str:
        """Where the jail's supervisor sees the group's counters."""
        return "/cgroup/own" if self._group is not None and self._group.version == 2 else "/cgroup"

    @property
    def grouped(self) -> bool:
        """Whether a cgroup caps it."""
        return self._group is not None

    async def last_words(self) -> str:
        """What the jail said on stderr before it failed, bounded."""
        if self._process.stderr is None:
            return ""
        with anyio.move_on_after(1), contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            return (await self._process.stderr.receive(2000)).decode("utf-8", "replace").strip()
        return ""

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await self.link.aclose()
            try:
                if self._group is not None:
                    with contextlib.suppress(OSError):  # it needs a descriptor, and SIGKILL reaches all but the frozen
                        self._group.thaw()
                self._kill()
                with anyio.move_on_after(10):
                    await self._process.wait()
                    await self._process.aclose()
                if self._group is not None:
                    await _remove(self._group)
            finally:
                self._user.close()

    def _kill(self) -> None:
        """Not by Process.send_signal, which reaps a dead child under asyncio's feet."""
        pidfd, self._pidfd = self._pidfd, None
        if pidfd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)


def _accounts(home: str, held: contextlib.ExitStack) -> tuple[tuple[int, str], ...]:
    """Descriptors of a passwd and a group file that call a jail's user "user", closed with `held`."""
    contents = {
        "/etc/passwd": f"root:x:0:0::/:/bin/false\nuser:x:1000:1000::{home}:/bin/bash\n",
        "/etc/group": "root:x:0:\nuser:x:1000:\n",
        "/etc/hosts": "127.0.0.1 localhost box\n::1 localhost\n",
        f"{BIN}/sudo": sudo.SCRIPT,
    }
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


def _open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:  # it ended at once, and asyncio has reaped it
        return None


async def _remove(group: Group) -> None:
    """A killed jail's last processes leave the group a moment after their parent."""
    for _ in range(200):
        if group.processes() == 0:
            break
        await anyio.sleep(0.01)
    group.remove()


async def _remove_now(group: Group) -> None:
    with anyio.CancelScope(shield=True):
        await _remove(group)


class LocalProvider:
    """Starts jails. Raises ConfigurationError when bubblewrap or the kernel won't."""

    name = "local"

    def __init__(
        self,
        python: Path = Path("/usr/bin/python3"),
        *,
        cgroup: CgroupPolicy = "auto",
        state_dir: Path | None = None,
        users: Users | None = None,
    ) -> None:
        """`users`: of which boxes have their own, as root."""
        self._python = python
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise ConfigurationError("bubblewrap is not installed; run `apt-get install bubblewrap`")
        if not python.exists():
            raise ConfigurationError(f"local_python is {python}, which does not exist; name an interpreter")
        self._bwrap = bwrap
        self._cgroups, self.no_cgroup_reason = (None, "not wanted") if cgroup == "never" else cgroups_or_reason()
        if cgroup == "require" and self._cgroups is None:
            raise ConfigurationError(f"no cgroup caps: {self.no_cgroup_reason}; allow rlimits or run as root")
        self._sites = Sites(python, state_dir)
        self._users = users or Users()
        self._left = LocalOrphans(Owners(state_dir), self._cgroups, self._users)

    @property
    def cgroups(self) -> Cgroups | None:
        return self._cgroups

    def claim(self) -> User:
        """A user of this machine for a box; the server's own where it is not root. Raises ProviderDown."""
        return self._users.claim() if os.geteuid() == 0 else User(0)

    async def start(
        self, image: str, *, work: Path | None = None, home: str = "", network: bool = False, user: User | None = None
    ) -> LocalBox:
        """A jail with its guest saying hello. Local boxes know one image, this machine; some names bring packages of
        the server's own environment with them. `work`: a session's folder, shown at `home`, which is then also the
        home of a named user; without one at /workspace. `network`: only to build what others begin with. `user`: who
        the box runs as, from now on its own to give back. Raises ProviderDown, ToolchainMissing."""
        user = user or self.claim()
        try:
            with as_provider_down("a jail can't be made"):
                site = await self._sites.ready(image)
                box = await self._jailed(site, work, home, network=network, user=user)
        except BaseException:
            user.close()
            raise
        try:
            await box.link.handshake(
                GuestConfig(
                    tier="namespaces",
                    cgroup=box.counters_at,
                    dirs=(),
                    uid_base=0,
                    limit_data=not box.grouped,
                    sessions=work is not None,
                    own_network=work is None and not network,  # into a session's a proxy is put from outside
                )
            )
        except BaseException as error:
            message = await box.last_words() if isinstance(error, BoxLost) else ""
            await box.aclose()
            if isinstance(error, BoxLost):
                raise ProviderDown(f"a jail did not start: {message or error}") from error
            raise
        return box

    async def _jailed(self, site: Path | None, work: Path | None, home: str, *, network: bool, user: User) -> LocalBox:
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
                accounts = _accounts(home, held) if home else ()
                jail = Jail(
                    bwrap=self._bwrap,
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
                    network=network,
                    owner=str(this_owner()),
                )
                # the guest holds its user too: nobody else gets it while anything of a killed server's box lives
                held_user = [user.fd] if user.fd >= 0 else []
                process = await _open(jail, [theirs.fileno(), *(fd for fd, _path in accounts), *held_user])
            undo.push_async_callback(_end, process)
            with anyio.CancelScope(shield=True):  # from here on the box owns what must be closed
                box_id = f"{os.getpid()}-{number}"
                link = GuestLink(await UNIXSocketStream.from_socket(ours), lambda: f"local box {box_id}")
                box = LocalBox(box_id, process, link, group, user)
            undo.pop_all()
            return box

    def _make_group(self, name: str) -> Group | None:
        if self._cgroups is None:
            return None
        try:
            return self._cgroups.make(name)
        except OSError as error:
            raise ProviderDown(f"can't make a cgroup: {error}") from error

    async def doctor(self) -> list[Capability]:
        """Start a box and ask it; one line per capability."""
        rows = [Capability("bubblewrap", True, self._bwrap)]
        try:
            box = await self.start("python")
        except ProviderDown as error:
            remedy = "allow unprivileged user namespaces (kernel.unprivileged_userns_clone=1, AppArmor)"
            return [*rows, Capability("jail", False, str(error), remedy)]
        await box.aclose()
        rows.append(Capability("jail", True, "user, pid, ipc, uts, net and mount namespaces; seccomp filter"))
        if self._cgroups is not None:
            rows.append(Capability("memory and process caps", True, f"cgroup v{self._cgroups.version}"))
            rows.append(_headroom(self._cgroups))
        else:
            rows.append(
                Capability(
                    "memory and process caps", True, f"rlimits only: {self.no_cgroup_reason}", "run as root for cgroups"
                )
            )
        return rows

    async def caps(self) -> Sequence[CapRow]:
        return local_caps(self._cgroups, self.no_cgroup_reason)

    async def orphans(self) -> Sequence[Orphan]:
        return await self._left.orphans()

    async def remove(self, orphan: Orphan) -> None:
        await self._left.remove(orphan)

    async def aclose(self) -> None:
        """Boxes are closed by their holders; the provider itself holds nothing."""


def _headroom(cgroups: Cgroups) -> Capability:
    """Whether sandboxes can reach their own caps before the machine, a container or a slice is short."""
    memory, processes = cgroups.headroom()
    caps = Limits()
    fits = min(memory // (caps.memory_bytes + GUEST_BYTES), processes // (caps.processes + GUEST_PROCESSES))
    told = f"{memory >> 20} MiB and {processes} processes are left above the sandboxes: enough for {fits} at their caps"
    remedy = "" if fits else "raise the caps of the groups above, or lower the limits"
    return Capability("headroom", fits >= 1, told, remedy)


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
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        await process.aclose()


async def _open(jail: Jail, inherited: Sequence[int]) -> Process:
    """The jail's outermost process. Raises ProviderDown."""
    try:
        return await anyio.open_process(
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
