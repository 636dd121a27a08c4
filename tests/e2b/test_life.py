"""A sandbox's life: made, found, extended, paused, kept, forked, ended."""

from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import pytest
from e2b import (
    CommandExitException,
    PtySize,
    Sandbox,
    SandboxException,
    SandboxQuery,
    SandboxState,
    Secret,
    SecretException,
    Volume,
    VolumeException,
)
from e2b.exceptions import (
    NotFoundException,
    SandboxNotFoundException,
    SandboxNotRunningException,
    ServiceBusyException,
)

from tests.e2b.servers import PoolServer, Where, until

pytestmark = pytest.mark.timeout(120)


def test_info_and_list(pool: PoolServer) -> None:
    started = datetime.now(UTC)
    where = pool.where("bob")
    one = Sandbox.create(timeout=60, metadata={"run": "1 & 2", "ünï": "cödé"}, **where)
    two = Sandbox.create("base:default", timeout=60, metadata={"run": "2"}, **where)
    try:
        info = one.get_info()
        assert info.sandbox_id == one.sandbox_id
        assert info.metadata == {"run": "1 & 2", "ünï": "cödé"}
        assert info.state is SandboxState.RUNNING
        assert timedelta(seconds=50) < info.end_at - info.started_at <= timedelta(seconds=61)
        assert (info.cpu_count, info.memory_mb) == (2, 1024)
        two.pause()

        def listed(**query: object) -> list[str]:
            pages = Sandbox.list(query=SandboxQuery(**query), **where)  # type: ignore[arg-type]
            return [item.sandbox_id for item in pages.next_items()]

        assert listed() == [two.sandbox_id, one.sandbox_id]
        assert listed(template="base") == [two.sandbox_id, one.sandbox_id]
        assert listed(metadata={"run": "1 & 2"}) == [one.sandbox_id]
        assert listed(metadata={"ünï": "cödé", "run": "2"}) == []
        assert listed(state=[SandboxState.PAUSED]) == [two.sandbox_id]
        assert listed(started_after=started - timedelta(seconds=5)) == [two.sandbox_id, one.sandbox_id]
        assert listed(started_after=two.get_info().started_at) == [two.sandbox_id], "itself included"
        assert listed(started_after=datetime.now(UTC) + timedelta(hours=1)) == []
        pages = Sandbox.list(limit=1, order="asc", **where)
        found = []
        while pages.has_next:
            found += [item.sandbox_id for item in pages.next_items()]
        assert found == [one.sandbox_id, two.sandbox_id]
    finally:
        assert one.kill()
        assert two.kill()
    assert not one.kill()
    with pytest.raises(SandboxNotFoundException):
        one.get_info()


def test_it_ends_when_its_time_is_up(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=2, **pool.where())
    until(lambda: not sandbox.is_running())
    with pytest.raises(SandboxNotRunningException):
        sandbox.commands.run("true")
    with pytest.raises(SandboxNotFoundException):
        Sandbox.connect(sandbox.sandbox_id, **pool.where())


def test_set_timeout_and_connect_extend(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=30, **pool.where())
    sandbox.set_timeout(200)
    before = sandbox.get_info().end_at
    again = Sandbox.connect(sandbox.sandbox_id, timeout=10, **pool.where())
    assert again.get_info().end_at == before
    assert again.commands.run("echo same").stdout == "same\n"
    sandbox.set_timeout(1)
    until(lambda: not again.is_running())
    with pytest.raises(SandboxNotFoundException):
        sandbox.set_timeout(10)


def test_metrics(sandbox: Sandbox) -> None:
    sandbox.commands.run("head -c 20000000 /dev/zero > file; python3 -c 'x=sum(range(10**7))'")
    until(lambda: bool(found := sandbox.get_metrics()) and found[-1].disk_used >= 20_000_000)
    metrics = sandbox.get_metrics()
    assert 0 < metrics[-1].mem_used <= metrics[-1].mem_total
    assert any(one.cpu_used_pct > 1 for one in metrics)
    assert sandbox.get_metrics(end=datetime.now(UTC) - timedelta(hours=1)) == []


def test_pause_and_resume(sandbox: Sandbox, pool: PoolServer) -> None:
    sandbox.files.write("kept", "1")
    sandbox.commands.run("sleep 100", background=True).disconnect()
    boot_ids = set()
    for round_ in range(3):  # what is written after a resume must be there after the next
        boot_ids.add(sandbox.files.read("/proc/sys/kernel/random/boot_id"))
        assert sandbox.pause(mode="filesystem")
        assert not sandbox.pause()
        assert not sandbox.is_running()
        assert sandbox.get_info().state is SandboxState.PAUSED
        resumed = Sandbox.connect(sandbox.sandbox_id, timeout=100, **pool.where())
        assert resumed.commands.list() == []
        assert resumed.files.read("kept") == "1"
        resumed.files.write(f"round{round_}", "x")
    assert len(boot_ids) == 3, "no memory is kept: it began anew"
    assert sorted(entry.name for entry in sandbox.files.list(".") if entry.name.startswith("round")) == [
        "round0",
        "round1",
        "round2",
    ]


def test_pause_when_time_is_up_and_resume_by_a_request(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=30, lifecycle={"on_timeout": "pause", "auto_resume": True}, **pool.where())
    sandbox.files.write("kept", "1")
    sandbox.set_timeout(1)
    until(lambda: sandbox.get_info().state is SandboxState.PAUSED)
    assert sandbox.files.read("kept") == "1"
    assert sandbox.get_info().state is SandboxState.RUNNING
    sandbox.kill()


def test_what_this_pool_has_not_is_told_as_that(pool: PoolServer) -> None:
    where = pool.where()
    for call in (lambda: Volume.create("one", **where), lambda: Volume.list(**where)):
        with pytest.raises(VolumeException, match="volumes are not supported by this pool"):
            call()
    with pytest.raises(SecretException, match="secrets are not supported by this pool"):
        Secret.create("one", "value", **where)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_what_is_killed_moves_no_page(pool: PoolServer, order: Literal["asc", "desc"]) -> None:
    where = pool.where("bob")
    made = [Sandbox.create(timeout=60, metadata={"order": order}, **where) for _ in range(5)]
    kept = [made[0].create_snapshot() for _ in range(3)]
    pages = Sandbox.list(SandboxQuery(metadata={"order": order}), limit=2, order=order, **where)
    seen = []
    while pages.has_next:
        for one in pages.next_items():
            assert Sandbox.kill(one.sandbox_id, **where)
            seen.append(one.sandbox_id)
    assert seen == [one.sandbox_id for one in made][:: 1 if order == "asc" else -1]
    snapshots, deleted = Sandbox.list_snapshots(limit=1, **where), []
    while snapshots.has_next:
        for image in snapshots.next_items():
            assert Sandbox.delete_snapshot(image.snapshot_id, **where)
            deleted.append(image.snapshot_id)
    assert deleted == [image.snapshot_id for image in reversed(kept)]
    with pytest.raises(SandboxException, match="nextToken is none of this list's"):
        Sandbox.list(next_token="somewhere", **where).next_items()


def test_snapshots(sandbox: Sandbox, pool: PoolServer) -> None:
    sandbox.files.write("state", "before")
    ticking = "while true; do date +%s%N > next; mv next clock; sleep 0.1; done"
    handle = sandbox.commands.run(ticking, background=True)
    until(lambda: sandbox.files.exists("clock"))
    named = sandbox.create_snapshot(name="mine")
    assert (named.names, named.snapshot_id) == (["mine:default"], "mine:default")
    sandbox.files.write("state", "after")
    clock = sandbox.files.read("clock")
    until(lambda: sandbox.files.read("clock") != clock)  # what ran goes on after a snapshot
    handle.kill()
    plain = sandbox.create_snapshot()
    found = Sandbox.list_snapshots(sandbox.sandbox_id, **pool.where()).next_items()
    assert {one.snapshot_id for one in found} == {named.snapshot_id, plain.snapshot_id}
    for name in ("mine", "mine:default", "Mine"):
        assert [one.names for one in Sandbox.list_snapshots(name=name, **pool.where()).next_items()] == [named.names]
    raw = plain.snapshot_id.removesuffix(":default")
    templates = {"mine:default": "before", "mine": "before", plain.snapshot_id: "after", raw: "after"}
    for template, wanted in templates.items():
        other = Sandbox.create(template, timeout=60, **pool.where())
        assert other.files.read("state") == wanted
        other.kill()
    assert sandbox.files.read("state") == "after"
    assert Sandbox.delete_snapshot(named.snapshot_id, **pool.where())
    assert not Sandbox.delete_snapshot(named.snapshot_id, **pool.where())
    with pytest.raises((NotFoundException, SandboxException)):
        Sandbox.create(named.snapshot_id, **pool.where())
    assert Sandbox.delete_snapshot(plain.snapshot_id, **pool.where())


def test_a_snapshots_name_may_have_a_tag_and_moves_to_the_newest(sandbox: Sandbox, pool: PoolServer) -> None:
    kept = []
    for content, name in (("1", "tagged:v1"), ("2", "tagged"), ("3", "tagged")):
        sandbox.files.write("state", content)
        kept.append(sandbox.create_snapshot(name=name))
    assert [one.snapshot_id for one in kept] == ["tagged:v1", "tagged:default", "tagged:default"]
    found = Sandbox.list_snapshots(sandbox.sandbox_id, **pool.where()).next_items()
    assert [one.names for one in found] == [["tagged:default"], ["tagged:v1"]], "the older one went with its last name"
    for template, wanted in (("tagged:v1", "1"), ("tagged", "3")):
        other = Sandbox.create(template, timeout=60, **pool.where())
        assert other.files.read("state") == wanted
        other.kill()
    for one in found:
        assert Sandbox.delete_snapshot(one.snapshot_id, **pool.where())
    with pytest.raises(SandboxException, match="'a/b' is not a template's name"):
        sandbox.create_snapshot(name="a/b")


def test_a_terminal_outlives_a_snapshot(sandbox: Sandbox) -> None:
    seen = bytearray()
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    sandbox.pty.send_stdin(terminal.pid, b"sleep 3; echo slept > relative\n")
    time.sleep(0.5)
    sandbox.create_snapshot()
    sandbox.pty.send_stdin(terminal.pid, b"cat relative; exit 5\n")
    with pytest.raises(CommandExitException) as caught:
        terminal.wait(on_pty=seen.extend)
    assert caught.value.exit_code == 5
    assert b"slept\r\n" in seen
    assert b"Stopped" not in seen
    assert sandbox.files.read("relative") == "slept\n"
    for snapshot in Sandbox.list_snapshots(sandbox.sandbox_id, **_where(sandbox)).next_items():
        Sandbox.delete_snapshot(snapshot.snapshot_id, **_where(sandbox))


def _where(sandbox: Sandbox) -> Where:
    config = sandbox.connection_config
    assert config.api_key
    return {"api_key": config.api_key, "api_url": config.api_url, "sandbox_url": config.api_url}


def test_fork(sandbox: Sandbox) -> None:
    sandbox.files.write("shared", "parent")
    forks = sandbox.fork(count=3, timeout=60)
    assert all(isinstance(one, Sandbox) for one in forks)
    copies = [one for one in forks if isinstance(one, Sandbox)]
    for number, one in enumerate(copies):
        assert one.files.read("shared") == "parent"
        one.files.write("shared", str(number))
    assert [one.files.read("shared") for one in copies] == ["0", "1", "2"]
    assert sandbox.files.read("shared") == "parent"
    for one in copies:
        one.kill()
    sandbox.files.write("after", "forks")
    assert sandbox.files.read("after") == "forks"


def test_an_unknown_template_is_told_as_that(pool: PoolServer) -> None:
    with pytest.raises(SandboxException, match="not found"):
        Sandbox.create("no-such-template", **pool.where())


def test_paused_ones_outlive_the_server(tmp_path: Path) -> None:
    first = PoolServer("local", tmp_path, port=0)
    sandbox = Sandbox.create(timeout=100, metadata={"a": "b"}, **first.where())
    lost = Sandbox.create(timeout=100, **first.where())
    sandbox.files.write("kept", "over a restart")
    snapshot = sandbox.create_snapshot(name="kept")
    sandbox.pause()
    first.stop(signal.SIGKILL)
    second = PoolServer("local", tmp_path, port=0)
    try:
        listed = Sandbox.list(**second.where()).next_items()
        assert [(one.sandbox_id, one.state) for one in listed] == [(sandbox.sandbox_id, SandboxState.PAUSED)]
        assert lost.sandbox_id not in {one.sandbox_id for one in listed}
        again = Sandbox.connect(sandbox.sandbox_id, **second.where())
        assert again.files.read("kept") == "over a restart"
        other = Sandbox.create(snapshot.snapshot_id, timeout=30, **second.where())
        assert other.files.read("kept") == "over a restart"
    finally:
        second.stop()


def test_a_full_machine_says_so_and_a_full_disk_of_snapshots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_GYM_SESSION_MAX_LIVE", "1")
    monkeypatch.setenv("SANDBOX_GYM_SESSION_SNAPSHOT_DISK_MB", "10")
    server = PoolServer("local", tmp_path)
    try:
        sandbox = Sandbox.create(timeout=60, **server.where())
        with pytest.raises(ServiceBusyException, match="no capacity"):
            Sandbox.create(timeout=60, retries=0, **server.where())
        sandbox.files.write("random", os.urandom(12 << 20))
        sandbox.create_snapshot()
        with pytest.raises(SandboxException, match="snapshots take"):
            sandbox.pause()
        assert sandbox.commands.run("echo runs on").stdout == "runs on\n"
    finally:
        server.stop()
