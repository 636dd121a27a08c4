"""The command line of a jail: which parts of the machine a local box sees. Pure; starts nothing."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from sandbox_gym.limits import SESSION_PTYS
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.pythons import PLACE

SITE = "/opt/sandbox-gym/site"
"""Programs that want packages beside the interpreter's own put this on their path."""
BIN = "/opt/sandbox-gym/bin"
"""A `python`, which Debian calls python3 only: virtual environments of sessions lead there. Of named users a sudo."""
COMPILERS = "/opt/sandbox-gym/compilers"
"""What compilers read that was made in advance; in the polyglot image it is a folder."""
_COMPILERS_KEPT = "/opt/sandbox-gym/compilers-kept"
OWNER_VARIABLE = "SANDBOX_GYM_OWNER"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ETC_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl", "/etc/ca-certificates")
_ETC = (
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/java-17-openjdk",
    "/etc/mono",
    *("/etc/R", "/etc/ldc2.conf", "/etc/java-21-openjdk", "/etc/php", "/etc/racket", "/etc/scala", "/var/lib/ghc"),
)


@cache
def _own_inodes() -> str:
    return files("sandbox_gym.guest").joinpath("own_inodes.py").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Jail:
    """What one box's jail is made of."""

    bwrap: str
    python: Path
    channel_fd: int
    cgroup_folders: tuple[tuple[str, str], ...] = ()
    """(folder on this machine, place under /cgroup), shown read-only to the supervisor as evidence."""
    uid: int = 0
    """The user on this machine that the whole box runs as; 0: the caller's own."""
    procs_files: Sequence[str] = ()
    """cgroup.procs files that the box's first process writes itself into."""
    work: Path | None = None
    """A folder on this machine that sessions keep their files in, shown as `home`."""
    home: str = "/workspace"
    accounts: Sequence[tuple[int, str]] = ()
    """(descriptor to read, file of the jail): what names its user."""
    site: Path | None = None
    """A folder on this machine with Python packages, shown as SITE."""
    pythons: Path | None = None
    """A folder on this machine with interpreters of other versions, shown at pythons.PLACE."""
    compilers: Path | None = None
    """A folder on this machine whose link `current` leads to what is shown as COMPILERS."""
    network: bool = False
    """Leave the machine's network in: for building what boxes begin with, never for a candidate."""
    owner: str = ""
    """The process that started it, for the reaper to read in the environment of the jail's outermost process."""

    def argv(self) -> list[str]:
        """Enter the groups, become the box's user, make the jail, start the guest."""
        enter = 'for f in $SANDBOX_GYM_PROCS; do echo 0 > "$f" || exit 125; done; exec "$@"'
        argv = ["/bin/sh", "-c", enter, "sandbox-gym-box"] if self.procs_files else []
        if self.uid:
            user = str(self.uid)
            argv += ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps=-all"]
        argv += [self.bwrap, *self._options(), "--", *self._with_own_inodes()]
        return [*argv, str(self.python), "-I", "-c", BOOTSTRAP, str(self.channel_fd), str(self.channel_fd)]

    def _with_own_inodes(self) -> list[str]:
        """See guest/own_inodes.py. The node of "the caller's terminal" can't be a box's own, and terminals tell it the
        time: only sessions have it, and pseudo-terminals, which all of the machine share."""
        ptys, hidden = (0, ["/dev/tty"]) if self.work is None else (SESSION_PTYS, [])
        return [str(self.python), "-I", "-S", "-c", _own_inodes(), str(ptys), *hidden, "--"]

    def environment(self) -> dict[str, str]:
        return {
            "SANDBOX_GYM_PROCS": " ".join(self.procs_files),
            OWNER_VARIABLE: self.owner,
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        }

    def _options(self) -> list[str]:
        options = ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]
        options += [] if self.network else ["--unshare-net"]
        options += ["--unshare-cgroup-try", "--uid", "1000", "--gid", "1000", "--hostname", "box", "--as-pid-1"]
        options += ["--cap-drop", "ALL"]
        for capability in ("CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_SYS_CHROOT", "CAP_NET_ADMIN"):
            options += ["--cap-add", capability]
        options += ["--die-with-parent", "--new-session", "--clearenv", "--ro-bind", "/usr", "/usr"]
        for path in _SYSTEM:
            if os.path.islink(path):
                options += ["--symlink", os.readlink(path), path]
            elif os.path.isdir(path):
                options += ["--ro-bind", path, path]
        for path in (*_ETC, *(_ETC_NETWORK if self.network else ())):
            if os.path.exists(path):
                options += ["--ro-bind", path, path]
        options += self._interpreter()
        options += ["--proc", "/proc", "--dev", "/dev"]
        for source, place in self.cgroup_folders:
            options += ["--ro-bind", source, f"/cgroup/{place}" if place else "/cgroup"]
        if self.work is not None:
            options += ["--bind", str(self.work), self.home]
            if self.home != WORK:  # where tools of sessions look for their files
                options += ["--bind", str(self.work), WORK]
            elif not any(path.is_relative_to("/root") for path in (self.python, self.python.resolve())):
                # where agents that count on being root keep their tools
                options += ["--symlink", WORK, "/root"]
        if self.python.parent != Path(BIN):  # as in our image, which has it
            options += ["--symlink", str(self.python), f"{BIN}/python"]
        for fd, path in self.accounts:
            options += ["--perms", "0755" if path.startswith(BIN) else "0644", "--ro-bind-data", str(fd), path]
        if self.pythons is not None:
            options += ["--ro-bind", str(self.pythons), PLACE]
        if self.site is not None:
            options += ["--ro-bind", str(self.site), SITE]
        if self.compilers is not None:
            options += ["--ro-bind", str(self.compilers), _COMPILERS_KEPT]
            options += ["--symlink", f"{_COMPILERS_KEPT}/current", COMPILERS]
        options += ["--dir", "/scratch", "--symlink", "scratch/tmp", "/tmp", "--dir", "/var"]
        options += ["--symlink", "../scratch/tmp", "/var/tmp", "--symlink", "scratch/tmp", "/mnt"]
        options += ["--chdir", "/", "--remount-ro", "/"]
        return options

    def _interpreter(self) -> list[str]:
        """An interpreter outside /usr brings its own prefix, and its base's where it is a virtual environment."""
        prefix = self.python.parent.parent
        wanted = {prefix, self.python.resolve().parent.parent}
        return [
            part
            for path in sorted(wanted)
            if not path.is_relative_to("/usr") and path != Path("/")
            for part in ("--ro-bind", str(path), str(path))
        ]
