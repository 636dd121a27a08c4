"""Provider `local` in a plain container: with the shipped profile, as root, as a user, and in Podman without root."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sandbox_gym.sandbox.caps import Cap
from tests import documented
from tests.attacks.running import FOLDERS
from tests.in_compose import DOCKER
from tools.seccomp import ADDED, PROFILE, engines_rules, profile

REPOSITORY = Path(__file__).parents[2]
IMAGE = "sandbox-gym/server"
INSIDE = "tests.containers.inside"
DOCTOR = ["sandbox_gym", "doctor", "--provider", "local"]
SECCOMP = ["--security-opt", f"seccomp={PROFILE}"]
NAMED = f"--security-opt seccomp={PROFILE.relative_to(REPOSITORY)}"
UNCOVERED = ["--security-opt", "systempaths=unconfined"]
UNMASKED = ["--security-opt", "unmask=ALL"]
AS_A_USER = ["--user", "1000:1000", "--env", "HOME=/tmp", "--cap-drop", "ALL", "--read-only"]
"""With nothing more than that: no capability, no writable file system but /tmp."""
REST = ["--network", "none", "--security-opt", "no-new-privileges", "--tmpfs", "/tmp:rw,exec,mode=1777"]
AS_ROOT = ["--env", "SANDBOX_GYM_UID_BASE=10000", "--env", "SANDBOX_GYM_UID_COUNT=50000"]
"""The ids that a user namespace with Debian's 65,536 has, too."""
ATTACKS = [folder.name for folder in FOLDERS if (folder / "payload.py").exists()]
ROOTLESS = "sandbox-gym-rootless"


def command(engine: Sequence[str], options: Sequence[str], words: Sequence[str], image: str = IMAGE) -> list[str]:
    mounted = ["--volume", f"{REPOSITORY}:/repository:ro", "--workdir", "/repository"]
    python = ["--env", "PYTHONPATH=/repository", "--env", "PYTHONDONTWRITEBYTECODE=1"]
    started = ["run", "--rm", "--entrypoint", "/usr/bin/tini", *mounted, *python, *REST]
    return [*engine, *started, *options, image, "-s", "--", "/opt/sandbox-gym/bin/python", "-m", *words]


def inside(argv: Sequence[str], timeout: float = 900) -> dict[str, object]:
    """What tests/containers/inside.py prints there."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=timeout, cwd="/")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def check_whole(found: dict[str, object], user: int, attacks: Sequence[str]) -> None:
    wrong = found["wrong"]
    assert isinstance(wrong, dict)
    assert {name: said for name, said in wrong.items() if said} == {}
    assert set(wrong) == {*attacks, "demo", *(cap.value for cap in Cap if cap is not Cap.CPU_SHARE)}
    assert (found["user"], found["loose"]) == (user, [Cap.CPU_SHARE.value])


@pytest.mark.extended
def test_the_pages_command_starts_sandboxes() -> None:
    swaps = {"serve coding --host 0.0.0.0": "doctor --provider local", "--publish 127.0.0.1:8080:8080": ""}
    argv = documented.command("where-it-runs.md", "docker run", {**swaps, "docker run": f"{DOCKER} run"})
    done = subprocess.run(argv, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=200)
    assert (done.returncode, "local, works" in done.stdout) == (0, True), done.stdout + done.stderr


def test_attacks_earn_nothing_in_a_container_without_privileges() -> None:
    attacks = ["24_proc_and_ptrace", "34_fork_bomb"]
    found = inside(command([DOCKER], [*SECCOMP, *UNCOVERED, *AS_A_USER], [INSIDE, *attacks]))
    assert found == {"user": 1000, "wrong": dict.fromkeys(attacks, ""), "loose": []}


@pytest.mark.extended
@pytest.mark.timeout(1000)
@pytest.mark.parametrize(("user", "options"), [(0, AS_ROOT), (1000, AS_A_USER)], ids=["root", "1000"])
def test_caps_demo_and_attacks_in_a_container(user: int, options: list[str]) -> None:
    part = ATTACKS[user // 1000 :: 3]
    found = inside(command([DOCKER], [*SECCOMP, *UNCOVERED, *options], [INSIDE, "caps", "demo", *part]))
    check_whole(found, user, part)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        pytest.param([], f"{NAMED} --security-opt systempaths=unconfined;", id="plain"),
        pytest.param(UNCOVERED, f"with {NAMED};", id="uncovered", marks=pytest.mark.extended),
        pytest.param(SECCOMP, "with --security-opt systempaths=unconfined;", id="profile", marks=pytest.mark.extended),
    ],
)
def test_each_option_is_needed_and_the_remedy_names_that_one(given: list[str], remedy: str) -> None:
    argv = command([DOCKER], given, [*DOCTOR, "--json"])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    rows = json.loads(done.stdout)["providers"]["local"]["capabilities"]
    (jail,) = [row for row in rows if row["name"] == "jail"]
    assert remedy in f"{jail['remedy']};", rows
    (where,) = [row for row in rows if row["name"] == "surroundings"]
    assert where["detail"].startswith("docker container, a seccomp filter")


@pytest.mark.extended
def test_a_mount_inside_usr_is_named() -> None:
    """The kernel makes no overlay of a folder that holds one, and boxes have no inodes of their own without."""
    argv = command([DOCKER], [*SECCOMP, *UNCOVERED, "--init"], [*DOCTOR, "--json"])
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert "docker-init is a mount of its own" in done.stdout, done.stdout


def test_the_profile_adds_only_what_it_names_to_the_engines_own() -> None:
    written = json.loads(PROFILE.read_text())
    of_the_engine = profile(engines_rules())
    allowed, own = ({name for rule in one["syscalls"] for name in rule["names"]} for one in (written, of_the_engine))
    assert allowed <= own, allowed - own
    assert {name for rule in written["syscalls"] if not rule.get("args") for name in rule["names"]} >= {*ADDED}
    assert not allowed & {"bpf", "init_module", "io_uring_setup", "kexec_load", "keyctl", "open_by_handle_at", "reboot"}


@pytest.fixture(scope="module")
def rootless() -> Iterator[list[str]]:
    """Podman of a user who is not root, with ids of /etc/subuid and the server's image in its own storage."""
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", ROOTLESS], check=False, capture_output=True)
    uid, home = pwd.getpwnam(ROOTLESS).pw_uid, pwd.getpwnam(ROOTLESS).pw_dir
    (Path(home) / ".config/containers").mkdir(parents=True, exist_ok=True)
    (Path(home) / ".config/containers/storage.conf").write_text('[storage]\ndriver = "overlay"\n')
    runtime = os.environ.get("SANDBOX_GYM_PODMAN_RUNTIME", "")
    started = ["env", "-i", f"PATH={os.environ['PATH']}", f"HOME={home}", f"XDG_RUNTIME_DIR={home}/run"]
    podman = [*started, "podman", *(["--runtime", runtime] if runtime else []), "--cgroup-manager", "cgroupfs"]
    as_user = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *podman]
    subprocess.run(["install", "-d", "-o", ROOTLESS, "-m", "700", f"{home}/run"], check=True)
    subprocess.run(["chown", "-R", ROOTLESS, home], check=True)
    try:
        with subprocess.Popen([DOCKER, "save", f"{IMAGE}:latest"], stdout=subprocess.PIPE) as saved:
            subprocess.run([*as_user, "load", "--quiet"], stdin=saved.stdout, check=True, timeout=600, cwd="/")
        yield as_user
    finally:
        subprocess.run([*as_user, "system", "reset", "--force"], check=False, timeout=200, cwd="/", capture_output=True)
        subprocess.run(["userdel", "--remove", ROOTLESS], check=False, capture_output=True)


@pytest.mark.extended
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("user", "options"), [(0, AS_ROOT), (1000, AS_A_USER)], ids=["root", "1000"])
def test_the_same_in_podman_without_root(rootless: list[str], user: int, options: list[str]) -> None:
    part = ATTACKS[2 + user // 1000 * 3 :: 6]
    argv = command(rootless, [*SECCOMP, *UNMASKED, *options], [INSIDE, "caps", "demo", *part], f"localhost/{IMAGE}")
    check_whole(inside(argv), user, part)
