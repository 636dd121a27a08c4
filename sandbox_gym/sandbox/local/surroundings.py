"""Why no jail starts here, and what helps: where this process runs (a container, a pod, a job's node, a machine), and
what holds for it there (a system-call filter, covered parts of /proc, AppArmor, the kernel's switches).

Names only what is found to be in the way. Reads files and the environment; starts nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from sandbox_gym.errors import ConfigurationError, ProviderDown

Place = Literal["docker container", "podman container", "pod", "apptainer", "container", "machine"]
PAGE: Final = "docs/guides/operator/where-it-runs.md"
PROFILE: Final = "deploy/seccomp/local.json"
"""Of the repository, and in the server's image below /srv/sandbox-gym."""
_FLAGS: Final[Mapping[Place, tuple[str, str, str, str]]] = {
    "docker container": (
        "start the container with",
        f"--security-opt seccomp={PROFILE}",
        "--security-opt systempaths=unconfined",
        "--security-opt apparmor=unconfined",
    ),
    "podman container": (
        "start the container with",
        f"--security-opt seccomp={PROFILE}",
        "--security-opt unmask=ALL",
        "--security-opt apparmor=unconfined",
    ),
    "pod": (
        "give the container's securityContext",
        f"seccompProfile: {{type: Localhost}} with {PROFILE}",
        "procMount: Unmasked (and the pod hostUsers: false)",
        "appArmorProfile: {type: Unconfined}",
    ),
    "container": (
        "start the container",
        f"with the seccomp profile {PROFILE}",
        "with all of /proc",
        "without an AppArmor profile",
    ),
}
"""By the place: the words before, and what lifts the filter, the covers of /proc, and the profile."""
_SWITCHES: Final = (
    ("user/max_user_namespaces", "0", "15000"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
)
"""Switches of the kernel: where below /proc/sys, the value that refuses a jail, and one that does not."""
_NO_COVERS: Final = ("/proc/sys/fs/binfmt_misc",)
_NOT_ENTERED: Final = re.compile(r"bwrap: Can't find source path (/.*): Permission denied")
_INSTALLERS: Final = ("apt-get install", "dnf install", "zypper install", "pacman -S", "apk add")


class JailRefused(ProviderDown):
    """bubblewrap could not make a jail here."""

    def __init__(self, said: str, remedy: str) -> None:
        super().__init__(f"a jail did not start: {said}; {remedy}")
        self.said, self.remedy = said, remedy


def refusal(said: str) -> JailRefused | None:
    """The error of a jail that ended with these words; None where they are no refusal of the kernel's."""
    if said.startswith("setpriv:"):
        most = max((int(start) + int(count) for start, _, count in _own_ids(Path("/"))), default=0)
        wanted = "set SANDBOX_GYM_UID_BASE and SANDBOX_GYM_UID_COUNT to a range of them that nothing else uses"
        return JailRefused(said, f"the user ids that this process may give to sandboxes end at {most}: {wanted}")
    if hidden := _NOT_ENTERED.search(said):
        path = Path(hidden[1])
        closed = next((each for each in (*reversed(path.parents), path) if not _is_open(each)), path)
        remedy = f"sandboxes have users of their own, who may not enter {closed}: `chmod o+x {closed}`"
        return JailRefused(hidden[0], f"{remedy}, or name one elsewhere (SANDBOX_GYM_LOCAL_PYTHON)")
    if said.startswith("bwrap:") or "Operation not permitted" in said or "Permission denied" in said:
        return JailRefused(said.rpartition("\n")[2], surroundings().after(said).remedy())
    return None


def _is_open(folder: Path) -> bool:
    """Whether any user may enter it."""
    try:
        return bool(folder.stat().st_mode & stat.S_IXOTH)
    except OSError:
        return False


def _own_ids(root: Path) -> list[list[str]]:
    """(first id, first id outside, how many) of this process's user namespace."""
    return [line.split() for line in _read(root / "proc/self/uid_map").splitlines()]


def find_bubblewrap() -> str:
    """The program. Raises ConfigurationError."""
    found = shutil.which("bwrap")
    if found is None:
        installer = next((each for each in _INSTALLERS if shutil.which(each.split()[0])), "")
        how = f"run `{installer} bubblewrap`" if installer else "install the package bubblewrap"
        raise ConfigurationError(f"bubblewrap is not installed; {how}")
    return found


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a process runs, and what there may refuse it a jail."""

    place: Place
    filtered: bool
    """A seccomp filter holds for the process."""
    covered: bool
    """Parts of its /proc are covered, so that the kernel refuses it another /proc."""
    confined: bool
    """An AppArmor profile holds for it."""
    switches: Mapping[str, str]
    """Switches of the kernel that refuse a jail, by name, with a value that does not."""
    job: bool = False
    """A batch system runs it, on a node that others administrate."""

    def describe(self) -> str:
        """The place, and what holds there."""
        job = ", in a batch job" if self.job else ""
        found = {"a seccomp filter": self.filtered, "parts of /proc covered": self.covered, "AppArmor": self.confined}
        return ", ".join([self.place + job, *(name for name, holds in found.items() if holds), *self.switches])

    def after(self, said: str) -> Surroundings:
        """What is left of it where bubblewrap got as far as it says: it mounts /proc when it has its namespaces."""
        if "mount proc" not in said:
            return self
        return replace(self, filtered=False, confined=False, switches={})

    def remedy(self) -> str:
        """What to do, one part for each thing that is in the way."""
        parts = [*self._switched(), *self._contained()]
        if not parts:
            parts = ["nothing that is known to refuse one was found: see the kernel's log (dmesg)"]
        return "; ".join(parts) + f"; or use another provider ({PAGE})"

    def _switched(self) -> Iterator[str]:
        whose = " on the host" if self.place != "machine" else " (its administrator)" if self.job else ""
        for name, value in self.switches.items():
            profile = ", or give bwrap an AppArmor profile with `userns,`" if "apparmor" in name else ""
            yield f"`sysctl -w {name}={value}`{whose}{profile}"

    def _contained(self) -> Iterator[str]:
        if self.place not in _FLAGS:
            if self.place == "apptainer" and not self.switches:
                yield "run it on the node itself, outside the image"
            return
        before, *flags = _FLAGS[self.place]
        wanted = [
            flag for flag, holds in zip(flags, (self.filtered, self.covered, self.confined), strict=True) if holds
        ]
        if wanted:
            joint = " " if flags[0].startswith("--") else ", "
            yield f"{before} {joint.join(wanted)}"


def surroundings(root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> Surroundings:
    """Those of this process. `root`: where /proc and the rest are read."""
    status = _read(root / "proc/self/status")
    profile = _read(root / "proc/self/attr/current")
    mounts = [line.split() for line in _read(root / "proc/self/mounts").splitlines()]
    switches = {
        name.replace("/", "."): right for name, wrong, right in _SWITCHES if _read(root / "proc/sys" / name) == wrong
    }
    return Surroundings(
        _place(root, environment),
        filtered="\nSeccomp:\t2" in status,
        covered=any(fields[1].startswith("/proc/") and fields[1] not in _NO_COVERS for fields in mounts if fields[1:]),
        confined=profile not in ("", "unconfined") and "(unconfined)" not in profile,
        switches=switches,
        job="SLURM_JOB_ID" in environment,
    )


def in_container() -> bool:
    """Whether this process runs in one, by what container engines leave there."""
    return _place(Path("/"), os.environ) != "machine"


def _place(root: Path, environment: Mapping[str, str]) -> Place:
    if "APPTAINER_CONTAINER" in environment or "SINGULARITY_CONTAINER" in environment:
        return "apptainer"
    if "KUBERNETES_SERVICE_HOST" in environment or (root / "var/run/secrets/kubernetes.io").exists():
        return "pod"
    if (root / ".dockerenv").exists():
        return "docker container"
    if (root / "run/.containerenv").exists():
        return "podman container"
    return "container" if environment.get("container") else "machine"


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip("\x00\n ")
    except OSError:
        return ""
