"""deploy/seccomp/local.json: the system-call filter of a container in which provider `local` makes its sandboxes.

It is what the Docker Engine of this machine gives a plain container, and what bubblewrap and our guest call besides
(`ADDED`), which the kernel allows a user namespace's owner; less what newer Engines refuse (`REMOVED`). In OCI's form,
without conditions of one engine, so that Docker, Podman and the kubelet read it. `python -m tools.seccomp` writes it
anew, as root with an Engine at hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

PROFILE: Final = Path(__file__).parents[1] / "deploy" / "seccomp" / "local.json"
ADDED: Final = (
    "chroot", "clone", "clone3", "mount", "pivot_root", "sethostname", "setns", "umount2", "unshare",
)  # fmt: skip
"""Allowed whatever their arguments. They do nothing outside a user namespace without capabilities, which a container
has not."""
REMOVED: Final = frozenset({"io_uring_enter", "io_uring_register", "io_uring_setup", "socket"})
_VSOCK: Final = 40
_STATE: Final = Path("/run/docker/containerd/daemon/io.containerd.runtime.v2.task/moby")
_DOCKER: Final = os.environ.get("DOCKER", "docker")


def engines_rules(image: str = "sandbox-gym/base") -> list[dict[str, Any]]:
    """The rules that hold for a plain container of this machine's Engine."""
    command = [_DOCKER, "run", "--detach", "--rm", "--entrypoint", "sleep", image, "60"]
    container = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    try:
        (config,) = [
            *_STATE.glob(f"{container}/config.json"),
            *Path("/run/containerd").glob(f"*/moby/{container}/config.json"),
        ]
        rules: list[dict[str, Any]] = json.loads(config.read_text())["linux"]["seccomp"]["syscalls"]
        return rules
    finally:
        subprocess.run([_DOCKER, "kill", container], capture_output=True, check=False)


def profile(rules: list[dict[str, Any]]) -> dict[str, Any]:
    """Ours, made of an Engine's."""
    plain = {name for rule in rules if _allows(rule) and not rule.get("args") for name in rule["names"]}
    conditional = [rule for rule in rules if _allows(rule) and rule.get("args") and rule["names"] != ["clone"]]
    not_vsock = [{"index": 0, "value": _VSOCK, "op": "SCMP_CMP_NE"}]
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "architectures": [f"SCMP_ARCH_{name}" for name in ("X86_64", "X86", "X32", "AARCH64", "ARM")],
        "syscalls": [
            {"names": sorted(plain - REMOVED - {*ADDED}), "action": "SCMP_ACT_ALLOW"},
            *conditional,
            {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": not_vsock},
            {"names": list(ADDED), "action": "SCMP_ACT_ALLOW"},
        ],
    }


def _allows(rule: dict[str, Any]) -> bool:
    return bool(rule["action"] == "SCMP_ACT_ALLOW")


if __name__ == "__main__":
    PROFILE.write_text(json.dumps(profile(engines_rules()), indent=1) + "\n")
    sys.stdout.write(f"{PROFILE}\n")
