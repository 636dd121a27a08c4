"""Why no jail starts, and what helps there: only what was found in the way is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.sandbox.local.surroundings import PAGE, PROFILE, refusal, surroundings
from tests.documented import ROOT

FILTERED = "Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"
MASKED = "proc /proc proc rw 0 0\ntmpfs /proc/kcore tmpfs rw 0 0\n"
POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}


def _machine(root: Path, **files: str) -> Path:
    """A root folder whose files are given by path, `__` for a slash."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_a_docker_container_is_told_what_it_lacks(tmp_path: Path) -> None:
    root = _machine(tmp_path, proc__self__status=FILTERED, proc__self__mounts=MASKED)
    (root / ".dockerenv").touch()
    remedy = surroundings(root, {}).remedy()
    assert "docker" not in remedy.replace("docs/", "")
    assert "seccomp=deploy/seccomp/local.json --security-opt systempaths=unconfined;" in remedy
    assert "apparmor" not in remedy
    assert "sysctl" not in remedy
    _machine(tmp_path, proc__self__status="Seccomp:\t0\n", proc__self__attr__current="docker-default (enforce)\n")
    remedy = surroundings(root, {}).remedy()
    assert "systempaths=unconfined --security-opt apparmor=unconfined;" in remedy
    assert "seccomp" not in remedy


def test_what_bubblewrap_got_past_is_not_in_the_way(tmp_path: Path) -> None:
    root = _machine(tmp_path, proc__self__status=FILTERED, proc__self__mounts=MASKED)
    (root / ".dockerenv").touch()
    found = surroundings(root, {})
    assert found.describe() == "docker container, a seccomp filter, parts of /proc covered"
    assert found.after("bwrap: Creating new namespace failed") == found
    remedy = found.after("bwrap: Can't mount proc on /newroot/proc: Operation not permitted").remedy()
    assert "with --security-opt systempaths=unconfined;" in remedy
    assert (ROOT / PROFILE).exists()
    assert (ROOT / PAGE).exists()


def test_a_pod_is_told_of_its_security_context(tmp_path: Path) -> None:
    root = _machine(tmp_path, proc__self__status=FILTERED, proc__self__mounts=MASKED)
    (root / ".dockerenv").touch()
    remedy = surroundings(root, POD).remedy()
    assert (
        "securityContext seccompProfile: {type: Localhost} with deploy/seccomp/local.json, procMount: Unmasked"
        in remedy
    )
    assert "--security-opt" not in remedy


@pytest.mark.parametrize(
    ("switch", "value", "said"),
    [
        ("kernel__apparmor_restrict_unprivileged_userns", "1\n", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("kernel__unprivileged_userns_clone", "0\n", "kernel.unprivileged_userns_clone=1"),
        ("user__max_user_namespaces", "0\n", "user.max_user_namespaces=15000"),
    ],
)  # fmt: skip
def test_switches_of_the_kernel_are_named_where_they_refuse(tmp_path: Path, switch: str, value: str, said: str) -> None:
    harmless = {"kernel__apparmor_restrict_unprivileged_userns": "0", "user__max_user_namespaces": "96365"}
    root = _machine(tmp_path, **{f"proc__sys__{name}": text for name, text in {**harmless, switch: value}.items()})
    remedy = surroundings(root, {}).remedy()
    assert f"`sysctl -w {said}`" in remedy
    assert remedy.count("sysctl") == 1
    assert ("AppArmor profile" in remedy) is ("apparmor" in switch)
    assert "its administrator" in surroundings(root, {"SLURM_JOB_ID": "7"}).remedy()
    (root / ".dockerenv").touch()
    assert f"{said}` on the host" in surroundings(root, {}).remedy()


def test_a_machine_without_a_known_reason_and_an_apptainer_image(tmp_path: Path) -> None:
    _machine(tmp_path, proc__self__mounts="binfmt_misc /proc/sys/fs/binfmt_misc binfmt_misc rw 0 0\n")
    found = surroundings(tmp_path, {})
    assert (found.place, found.covered) == ("machine", False)
    assert "dmesg" in found.remedy()
    assert "outside the image" in surroundings(tmp_path, {"APPTAINER_CONTAINER": "x.sif"}).remedy()


def test_only_a_refusal_of_the_kernel_is_one() -> None:
    assert refusal("Traceback\nOSError: mount /usr: Operation not permitted") is not None
    users = refusal("setpriv: setresuid failed: Invalid argument")
    assert users is not None
    assert "SANDBOX_GYM_UID_BASE" in users.remedy
    assert refusal("") is None
    assert refusal("out of memory") is None


def test_a_folder_that_sandboxes_may_not_enter_is_named(tmp_path: Path) -> None:
    python = tmp_path / "home" / "versions" / "3.13"
    python.mkdir(parents=True)
    (tmp_path / "home").chmod(0o700)
    closed = next(each for each in reversed(python.parents) if not each.stat().st_mode & 0o001)  # pytest's own, or home
    found = refusal(f"bwrap: Can't find source path {python}: Permission denied")
    assert found is not None
    assert f"`chmod o+x {closed}`" in found.remedy
    assert "SANDBOX_GYM_LOCAL_PYTHON" in found.remedy
