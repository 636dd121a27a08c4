"""Commands, files and template builds as root, for a tenant that may: on docker. Everywhere else root is refused."""

from __future__ import annotations

import json
import subprocess
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2b import AuthenticationException, PtySize, Sandbox, Template, TimeoutException
from e2b.exceptions import SandboxException

from sandbox_gym.sandbox.containers.container import CAPABILITIES
from tests.e2b.servers import KEYS, TENANTS, PoolServer

ROOT = Path(__file__).parents[2]
WITH_ROOT = TENANTS.replace("sandboxes = 12", "sandboxes = 12\nroot = true")
NUMBERS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8}
"""Of capabilities, as the kernel has them."""


@pytest.fixture(scope="module")
def rooted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    server = PoolServer("docker", tmp_path_factory.mktemp("rooted"), keys=WITH_ROOT)
    try:
        yield server
    finally:
        server.stop()
    assert "unexpected_error" not in server.log()
    assert "Traceback" not in server.log()


@pytest.fixture
def sandbox(rooted: PoolServer) -> Iterator[Sandbox]:
    sandbox = Sandbox.create(timeout=300, **rooted.where())
    try:
        yield sandbox
    finally:
        sandbox.kill()


def said(sandbox: Sandbox, command: str, user: str | None = None) -> str:
    return sandbox.commands.run(command, user=user).stdout.strip()


def test_each_user_has_home_files_and_processes_of_its_own(sandbox: Sandbox) -> None:
    assert said(sandbox, 'echo "$(id -un)" "$HOME" "$USER" "$(pwd)"', "root") == "root /root root /root"
    assert said(sandbox, 'echo "$(id -un)" "$HOME" "$USER" "$(pwd)"') == "user /home/user user /home/user"
    sandbox.files.write("/etc/made", "root's", user="root")
    sandbox.files.write("relative", "r", user="root")
    assert said(sandbox, "stat -c %U /etc/made /root/relative", "root").split() == ["root", "root"]
    assert sandbox.files.read("/etc/made") == "root's"
    assert said(sandbox, "adduser --disabled-password --gecos '' other >&2; su other -c 'id -un'", "root") == "other"
    sleeper = sandbox.commands.run("exec sleep 300", background=True, user="root")
    assert sandbox.commands.run(f"kill {sleeper.pid} || echo refused").stdout == "refused\n"
    assert sleeper.pid in {one.pid for one in sandbox.commands.list()}
    assert sandbox.commands.kill(sleeper.pid)


@pytest.mark.parametrize("user", ["root", None])
@pytest.mark.parametrize("device", ["zero", "random", "null"])
def test_a_device_is_not_copied(sandbox: Sandbox, device: str, user: str | None) -> None:
    """Its content may have no end; root may write its folder, and so take it away."""
    with pytest.raises(SandboxException, match="can't be moved to another file system"):
        sandbox.files.rename(f"/dev/{device}", "/data/taken", user=user)
    assert said(sandbox, f"stat -c %F /dev/{device}; ls -A /data") == "character special file"


def test_a_user_s_files_may_be_anywhere(sandbox: Sandbox) -> None:
    """As at E2B, where root handles them; processes have no more than before."""
    for path in ("/app/src/main.py", "/opt/tool", "/bin/other", "/etc/hosts"):
        sandbox.files.write(path, "x" * (3 << 20))
        assert sandbox.files.read(path) == "x" * (3 << 20)
        assert sandbox.files.get_info(path).owner == "user"
    assert sandbox.files.make_dir("/data/in")
    assert not sandbox.files.make_dir("/data/in")
    sandbox.files.rename("/app/src/main.py", "/data/out/main.py")
    assert said(sandbox, "stat -c %U /app /app/src /data/in /data/out / /opt").split() == ["user"] * 4 + ["root"] * 2
    assert "root:" in sandbox.files.read("/etc/shadow")
    sandbox.files.remove("/opt/tool")
    assert said(sandbox, "ls /opt/tool /data/out 2>&1 || touch /opt/new 2>&1 || true").count("main.py") == 1
    said(sandbox, "ln -s /etc/shadow link; ln -s /etc folder")
    for ask in (sandbox.files.read, lambda path: sandbox.files.write(path, "root::0:0:::::")):
        for path in ("link", "folder/shadow"):
            with pytest.raises(SandboxException, match="a link of a user's"):
                ask(path)
    sandbox.files.remove("link")
    assert "root:" in sandbox.files.read("/etc/shadow")


def test_input_terminals_and_watches_of_root(sandbox: Sandbox) -> None:
    cat = sandbox.commands.run("cat", background=True, stdin=True, user="root")
    sandbox.commands.send_stdin(cat.pid, "words")
    sandbox.commands.close_stdin(cat.pid)
    assert cat.wait().stdout == "words"
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80), user="root")
    sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=90))
    sandbox.pty.send_stdin(terminal.pid, b"id -un; stty size; exit\n")
    printed: list[bytes] = []
    terminal.wait(on_pty=printed.append)
    assert b"root\r\n30 90\r\n" in b"".join(printed)
    watch = sandbox.files.watch_dir("/root", user="root")
    sandbox.files.write("/root/seen", "1", user="root")
    assert {event.name for event in watch.get_new_events()} == {"seen"}
    watch.stop()


def test_root_has_the_container_s_rights_and_no_more(sandbox: Sandbox) -> None:
    wanted = sum(1 << NUMBERS[name] for name in CAPABILITIES)
    status = said(sandbox, "grep -E '^(CapBnd|CapEff|NoNewPrivs)' /proc/self/status", "root").split()
    assert [int(one, 16) for one in status[1::2]] == [wanted, wanted, 1]
    tried = [
        "mount -t tmpfs none /mnt",
        "mknod /tmp/d b 8 0",
        "unshare -m true",
        "chroot / true",
        "ls /sys/fs/cgroup/x",
    ]
    for command in tried:
        assert said(sandbox, f"{command} 2>/dev/null || echo refused", "root") == "refused", command
    assert said(sandbox, "ls /sys/class/net", "root") == "lo"


def test_snapshots_forks_and_pauses_keep_what_root_wrote(rooted: PoolServer, sandbox: Sandbox) -> None:
    said(sandbox, "echo kept > /usr/local/share/kept; chmod 600 /usr/local/share/kept", "root")
    goes_on = sandbox.commands.run(
        "while true; do date +%s%N > /tmp/next; mv /tmp/next /tmp/now; sleep 0.02; done", background=True, user="root"
    )
    said(sandbox, "until [ -e /tmp/now ]; do sleep 0.02; done")  # it may have its turn late
    snapshot = sandbox.create_snapshot()
    before = said(sandbox, "cat /tmp/now")
    time.sleep(0.5)
    assert int(said(sandbox, "cat /tmp/now")) > int(before), "it was held meanwhile, not ended"
    goes_on.kill()
    (fork,) = sandbox.fork()
    assert isinstance(fork, Sandbox)
    others = [Sandbox.create(snapshot.snapshot_id, timeout=60, **rooted.where()), fork]
    try:
        for other in others:
            assert other.commands.run("cat /usr/local/share/kept || echo refused").stdout == "refused\n"
            assert said(other, "cat /usr/local/share/kept", "root") == "kept"
    finally:
        for other in others:
            other.kill()
    sandbox.pause()
    sandbox.connect()
    assert said(sandbox, "cat /usr/local/share/kept; id -un", "root") == "kept\nroot"


def test_root_that_ends_its_own_driver_or_everything_costs_its_sandbox_alone(
    rooted: PoolServer, sandbox: Sandbox
) -> None:
    held, before = Path(f"/proc/{rooted.process.pid}/fd"), 0
    for again in range(6):
        with pytest.raises((SandboxException, TimeoutException)):
            sandbox.commands.run("kill -9 $PPID; sleep 60", user="root", timeout=20)
        before = before if again else len(list(held.iterdir()))
    assert len(list(held.iterdir())) < before + 4, "a driver that has ended holds nothing of the server's"
    assert said(sandbox, "id -un") == "user"
    assert said(sandbox, "id -un", "root") == "root", "it is started again"
    with pytest.raises((SandboxException, TimeoutException)):
        sandbox.commands.run("kill -9 -1; sleep 60", user="root", timeout=20)
    other = Sandbox.create(timeout=60, **rooted.where())
    assert said(other, "id -un", "root") == "root"
    other.kill()


def test_signed_urls_for_root(sandbox: Sandbox) -> None:
    import httpx

    sandbox.files.write("own", "user's")
    sandbox.files.write("own", "root's", user="root")
    own = sandbox.download_url("own")
    assert httpx.get(own, auth=("root", "")).text == "user's", "who has a URL has no more than it says"
    url = sandbox.upload_url("/etc/signed", user="root")
    assert httpx.post(url, files={"file": b"s"}).status_code == 200
    assert httpx.get(sandbox.download_url("/etc/signed", user="root")).content == b"s"
    assert (
        httpx.get(
            sandbox.download_url("/etc/signed", user="root").replace("username=root", "username=user")
        ).status_code
        == 401
    )


DOCKERFILE = """
FROM debian:12
RUN mkdir /srv/app && echo "by $(id -un)" > /srv/app/who
WORKDIR /srv/app/below
COPY one.txt ./
ENV COLOUR=green
RUN cat one.txt > copied
USER user
RUN touch ~/mine; touch /srv/app/mine 2>/dev/null || echo refused > ~/refused
"""


def test_a_dockerfile_s_steps_run_as_root(rooted: PoolServer, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1\n")
    template = Template(file_context_path=tmp_path).from_dockerfile(DOCKERFILE)
    Template.build(template, "by-file", api_key=KEYS["alice"], api_url=rooted.url)
    sandbox = Sandbox.create("by-file", timeout=60, **rooted.where())
    try:
        assert said(
            sandbox, "id -un; pwd; cat ../who copied; stat -c %U . one.txt ~/mine ~/refused; echo $COLOUR"
        ).split("\n") == ["user", "/srv/app/below", "by root", "1", "root", "root", "user", "user", "green"]
    finally:
        sandbox.kill()


def test_folders_outside_the_home_are_the_step_s_user_s(rooted: PoolServer, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1\n")
    template = Template(file_context_path=tmp_path).from_base_image()
    template = template.set_workdir("/app/x").copy("one.txt", "/data/y/").copy("one.txt", "/data/r", user="root")
    Template.build(template.run_cmd("touch here /data/y/too"), "outside", api_key=KEYS["alice"], api_url=rooted.url)
    sandbox = Sandbox.create("outside", timeout=60, **rooted.where())
    try:
        owners = "stat -c %U /app /app/x /app/x/here /data /data/y /data/y/one.txt /data/y/too /data/r"
        assert said(sandbox, f"pwd; {owners}").split() == ["/app/x", *["user"] * 7, "root"]
    finally:
        sandbox.kill()


def test_sandboxes_of_a_template_are_its_last_user_s(rooted: PoolServer) -> None:
    template = (
        Template().from_base_image().set_user("root").set_start_cmd("id -un > /etc/began; sleep 300", "sleep 0.1")
    )
    Template.build(template, "as-root", api_key=KEYS["alice"], api_url=rooted.url)
    sandbox = Sandbox.create("as-root", timeout=60, **rooted.where())
    try:
        assert said(sandbox, "id -un; cat /etc/began") == "root\nroot"
        assert said(sandbox, "id -un", "user") == "user"
        assert sandbox.files.write("/etc/mine", "1").path == "/etc/mine"
    finally:
        sandbox.kill()


def test_who_may_not(pool: PoolServer, rooted: PoolServer) -> None:
    for where in (pool.where(), rooted.where("bob")):
        sandbox = Sandbox.create(timeout=60, **where)
        try:
            with pytest.raises(AuthenticationException, match="root"):
                sandbox.commands.run("id", user="root")
            with pytest.raises(AuthenticationException, match="root"):
                sandbox.files.read("/etc/passwd", user="root")
            with pytest.raises(SandboxException, match="/etc/mine"):
                sandbox.files.write("/etc/mine", "1")
            with pytest.raises(AuthenticationException, match="nobody"):
                sandbox.commands.run("id", user="nobody")
        finally:
            sandbox.kill()
    lines: list[str] = []
    template = Template().skip_cache().from_base_image().run_cmd("id -un", user="root")
    Template.build(
        template,
        "no-root",
        api_key=KEYS["bob"],
        api_url=rooted.url,
        on_build_logs=lambda one: lines.append(one.message),
    )
    assert "user" in lines
    assert any("no root" in line for line in lines)


def test_what_root_wrote_is_not_for_a_tenant_that_lost_the_right(tmp_path: Path) -> None:
    server = PoolServer("docker", tmp_path, keys=WITH_ROOT)
    by_root = Template().from_base_image().run_cmd("id -un > /var/tmp/who", user="root")
    try:
        Template.build(by_root, "who", api_key=KEYS["alice"], api_url=server.url)
        kept, plain = Sandbox.create(timeout=60, **server.where()), Sandbox.create(timeout=60, **server.where())
        said(kept, "id", "root")
        snapshots = [kept.create_snapshot().snapshot_id, plain.create_snapshot().snapshot_id]
        kept.pause()
    finally:
        server.stop()
    server = PoolServer("docker", tmp_path)
    try:
        Sandbox.create(snapshots[1], timeout=60, **server.where()).kill()
        with pytest.raises(SandboxException, match="root"):
            Sandbox.create(snapshots[0], timeout=60, **server.where())
        with pytest.raises(SandboxException, match="root"):
            Sandbox.connect(kept.sandbox_id, timeout=60, **server.where())
        Template.build(by_root, "who", api_key=KEYS["alice"], api_url=server.url)
        made = Sandbox.create("who", timeout=60, **server.where())
        assert said(made, "cat /var/tmp/who") == "user", "a step that root has run is none that was done already"
        made.kill()
    finally:
        server.stop()


def wheel(folder: Path) -> str:
    """A package of one module, as pip takes it without an index."""
    name = "tinyone-1.0-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("tinyone.py", "WORD = 'by pip'\ndef main(): print(WORD)\n")
        about = "tinyone-1.0.dist-info"
        archive.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: tinyone\nVersion: 1.0\n")
        archive.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{about}/entry_points.txt", "[console_scripts]\ntinyone = tinyone:main\n")
        archive.writestr(f"{about}/RECORD", "")
    return name


@pytest.mark.extended
def test_packages_of_pip_and_npm(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    subprocess.run([ROOT / "images" / "build.sh", "e2b"], check=True, timeout=900)
    name = wheel(tmp_path)
    (tmp_path / "tool").mkdir()
    about = {"name": "tool", "version": "1.0.0", "bin": {"tool": "cli.js"}}
    (tmp_path / "tool" / "package.json").write_text(json.dumps(about))
    (tmp_path / "tool" / "cli.js").write_text("#!/usr/bin/env node\nconsole.log('by npm')\n")
    server = PoolServer("docker", tmp_path_factory.mktemp("packages"), keys=WITH_ROOT)
    try:
        for everybody in (True, False):
            template = Template(file_context_path=tmp_path).from_node_image().copy(name, ".").copy("tool", "tool")
            template = template.pip_install(f"/home/user/{name}", g=everybody).npm_install(
                "/home/user/tool", g=everybody
            )
            Template.build(template, "packages", api_key=KEYS["alice"], api_url=server.url)
            sandbox = Sandbox.create("packages", timeout=60, **server.where())
            try:
                assert said(sandbox, "tinyone; python -c 'import tinyone; print(tinyone.WORD)'") == "by pip\nby pip"
                assert (
                    said(sandbox, "npx tool; which tool || echo own")
                    == f"by npm\n{'/usr/local/bin/tool' if everybody else 'own'}"
                )
            finally:
                sandbox.kill()
    finally:
        server.stop()
