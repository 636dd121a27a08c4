"""files, as the SDK has them."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import random
import time
import urllib.error
import urllib.request
from email.message import Message

import pytest
from e2b import FileType, InvalidArgumentException, NotFoundException, Sandbox
from e2b.exceptions import (
    AuthenticationException,
    NotEnoughSpaceException,
    SandboxException,
    SandboxNotRunningException,
)
from e2b.sandbox.filesystem.watch_handle import FilesystemEventType

from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.timeout(120)


def test_text_bytes_and_streams(sandbox: Sandbox) -> None:
    info = sandbox.files.write("a/b/ünï cödé 世界.txt", "héllo\n")
    assert info.path == "/home/user/a/b/ünï cödé 世界.txt"
    assert info.name == "ünï cödé 世界.txt"
    assert sandbox.files.read(info.path) == "héllo\n"
    assert bytes(sandbox.files.read(info.path, format="bytes")) == "héllo\n".encode()
    sandbox.files.write(info.path, io.BytesIO(b"shorter"))
    with sandbox.files.read(info.path, format="stream") as stream:
        assert b"".join(stream) == b"shorter"
    assert sandbox.files.write("empty", b"").path == "/home/user/empty"
    assert sandbox.files.read("empty") == ""


def test_50_mb(sandbox: Sandbox) -> None:
    data = os.urandom(50 << 20)
    sandbox.files.write("big", data)
    digest = sandbox.commands.run("sha256sum big").stdout.split()[0]
    assert digest == hashlib.sha256(data).hexdigest()
    assert bytes(sandbox.files.read("big", format="bytes")) == data
    got = hashlib.sha256()
    with sandbox.files.read("big", format="stream") as stream:
        for piece in stream:
            got.update(piece)
    assert got.hexdigest() == digest


def test_gzip_and_octet_stream(sandbox: Sandbox) -> None:
    text = "compress me\n" * 200_000
    sandbox.files.write("zipped", text, gzip=True)
    assert sandbox.commands.run("wc -c < zipped").stdout.strip() == str(len(text))
    assert sandbox.files.read("zipped", gzip=True) == text
    sandbox.files.write("octets", b"\0\xff" * 10, use_octet_stream=True)
    assert bytes(sandbox.files.read("octets", format="bytes")) == b"\0\xff" * 10


def test_a_body_that_is_no_gzip_is_refused(sandbox: Sandbox) -> None:
    url = sandbox.upload_url("bomb")
    body = gzip.compress(b"x")[:-4]
    headers = {"Content-Type": "application/octet-stream", "Content-Encoding": "gzip"}
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(urllib.request.Request(url, body, headers))
    assert caught.value.code == 400
    caught.value.close()


@pytest.mark.parametrize("boundary", ["x" * 257, "x" * 70_000, ""])
def test_a_form_s_boundary_is_one_or_refused(sandbox: Sandbox, boundary: str) -> None:
    body = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nx\r\n--{boundary}--\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    request = urllib.request.Request(sandbox.upload_url("f"), body.encode("latin-1"), headers)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request)
    assert caught.value.code in (400, 431)
    caught.value.close()


def test_many_files_at_once(sandbox: Sandbox) -> None:
    infos = sandbox.files.write_files([{"path": f"many/{number}", "data": str(number)} for number in range(20)])
    assert [info.path for info in infos] == [f"/home/user/many/{number}" for number in range(20)]
    assert len(sandbox.files.list("many")) == 20
    assert sandbox.files.read("many/7") == "7"


def test_metadata(sandbox: Sandbox) -> None:
    assert sandbox.files.write("noted", "x", metadata={"source": "test"}).metadata == {"source": "test"}
    assert sandbox.files.get_info("noted").metadata == {"source": "test"}
    assert sandbox.files.exists("noted/below") is False
    sandbox.files.write("noted", "y")
    assert sandbox.files.get_info("noted").metadata is None
    sandbox.commands.run("python3 -c \"import os; os.setxattr('noted', 'user.e2b.by', b'program')\"")
    assert sandbox.files.get_info("noted").metadata == {"by": "program"}


def test_list_and_info(sandbox: Sandbox) -> None:
    sandbox.commands.run("mkdir -p tree/in/deep; echo 123 > tree/in/deep/file; ln -s in/deep/file tree/link")
    assert [entry.name for entry in sandbox.files.list("tree")] == ["in", "link"]
    deep = sandbox.files.list("tree", depth=3)
    assert sandbox.files.list("tree", depth=2**32 - 1) == deep
    assert [entry.path.removeprefix("/home/user/tree/") for entry in deep] == ["in", "in/deep", "in/deep/file", "link"]
    info = sandbox.files.get_info("tree/in/deep/file")
    assert (info.type, info.size, info.owner, info.permissions) == (FileType.FILE, 4, "user", "-rw-r--r--")
    assert abs(info.modified_time.timestamp() - time.time()) < 60
    link = sandbox.files.get_info("tree/link")
    assert (link.type, link.symlink_target) == (FileType.SYMLINK, "/home/user/tree/in/deep/file")
    assert sandbox.files.get_info("tree").type is FileType.DIR
    with pytest.raises(InvalidArgumentException):
        sandbox.files.list("tree/in/deep/file")


def test_make_rename_remove_exists(sandbox: Sandbox) -> None:
    assert sandbox.files.make_dir("one/two")
    assert not sandbox.files.make_dir("one/two")
    sandbox.files.write("one/file", "x")
    assert sandbox.files.rename("one/file", "three/file").path == "/home/user/three/file"
    assert not sandbox.files.exists("one/file")
    assert sandbox.files.exists("three")
    sandbox.files.remove("three")
    sandbox.files.remove("three")
    assert not sandbox.files.exists("three")
    with pytest.raises(NotFoundException):
        sandbox.files.rename("missing", "other")
    with pytest.raises(NotFoundException):
        sandbox.files.read("missing")
    with pytest.raises(NotFoundException):
        sandbox.files.list("missing")
    with pytest.raises(InvalidArgumentException):
        sandbox.files.read("one")


def test_rename_to_another_file_system(sandbox: Sandbox) -> None:
    """`/tmp` is one of its own."""
    files, tree = sandbox.files, "stat -c '%A %U %Y %n' {0}/* {0}/in/*; readlink {0}/link"
    files.write("/tmp/tree/in/file", "x", metadata={"kept": "too"})
    sandbox.commands.run(
        "cd /tmp/tree; ln -s in link; chmod 750 in; touch -d 2001-01-01 in/file; mkdir -p ~/full/x ~/empty"
    )
    before = sandbox.commands.run(tree.format("."), cwd="/tmp/tree").stdout
    for failing in ("full", "/etc/tree"):
        with pytest.raises(SandboxException):
            files.rename("/tmp/tree", failing)
    assert files.rename("/tmp/tree", "empty").path == "/home/user/empty"
    assert not files.exists("/tmp/tree")
    assert sandbox.commands.run(tree.format("."), cwd="empty").stdout == before
    assert files.get_info("empty/in/file").metadata == {"kept": "too"}
    files.rename("empty/in/file", "/tmp/file")
    assert files.read("/tmp/file") == "x"
    with pytest.raises(SandboxException):
        files.rename("/etc/passwd", "passwd")
    assert not files.exists("passwd"), "what can't be taken away is not copied either"
    assert not [one for one in files.list(".") if one.name.startswith(".moved")]


def test_what_is_no_file_stays_on_its_file_system(sandbox: Sandbox) -> None:
    listen = "import socket; socket.socket(socket.AF_UNIX).bind('/tmp/odd/in/socket')"
    sandbox.commands.run(f'mkdir -p /tmp/odd/in; mkfifo /tmp/odd/in/pipe; python3 -c "{listen}"')
    for odd in ("/tmp/odd/in/pipe", "/tmp/odd/in/socket", "/tmp/odd"):
        with pytest.raises(SandboxException, match="can't be moved to another file system"):
            sandbox.files.rename(odd, "moved")
        assert sandbox.files.exists(odd)
        assert not sandbox.files.exists("moved")
    sandbox.files.rename("/tmp/odd", "/tmp/moved")
    assert sandbox.files.exists("/tmp/moved/in/pipe")


def test_what_is_no_plain_file_does_not_hang(sandbox: Sandbox) -> None:
    sandbox.commands.run("mkfifo pipe; ln -s /dev/zero zeroes; ln -s loop loop")
    for path in ("pipe", "zeroes", "loop"):
        with pytest.raises(InvalidArgumentException):
            sandbox.files.read(path, request_timeout=10)
    with pytest.raises(InvalidArgumentException):
        sandbox.files.write("pipe", "x", request_timeout=10)


def test_a_request_that_its_driver_can_t_do_costs_itself_alone(sandbox: Sandbox) -> None:
    """The driver's errors of open files, and folders deeper than it may recurse: each ended the sandbox."""
    with pytest.raises(SandboxException):
        sandbox.files.write("/proc/self/comm", "x", metadata={"key": "no attributes there"})
    deep = "/".join("d" * 600)
    sandbox.commands.run(f"mkdir -p {deep}")
    handle = sandbox.files.watch_dir(".", recursive=True)
    sandbox.commands.run(f"mkdir -p new/{deep}")
    for name in (f"{deep}/file", f"new/{deep}/file"):
        sandbox.files.write(name, "x")
        assert any(event.name == name for _ in range(20) for event in handle.get_new_events())


def test_a_full_disk_is_told_as_that(sandbox: Sandbox) -> None:
    with pytest.raises(NotEnoughSpaceException):
        sandbox.files.write("huge", (bytes(1 << 20) for _ in range(700)), request_timeout=100)
    assert sandbox.commands.run("rm -f huge; echo still here").stdout == "still here\n"


def test_watch(sandbox: Sandbox) -> None:
    sandbox.files.make_dir("watched/below")
    handle = sandbox.files.watch_dir("watched")
    sandbox.files.write("watched/file", "x")
    sandbox.commands.run("chmod 600 watched/file; mv watched/file watched/moved; rm watched/moved")
    sandbox.files.write("watched/below/unseen", "x")
    time.sleep(0.2)
    seen = [(event.type, event.name) for event in handle.get_new_events()]
    kinds = FilesystemEventType
    assert seen[:3] == [(kind, "file") for kind in (kinds.CREATE, kinds.CHMOD, kinds.WRITE)], "as envd writes a file"
    for wanted in (
        (FilesystemEventType.CREATE, "file"),
        (FilesystemEventType.WRITE, "file"),
        (FilesystemEventType.CHMOD, "file"),
        (FilesystemEventType.RENAME, "file"),
        (FilesystemEventType.CREATE, "moved"),
        (FilesystemEventType.REMOVE, "moved"),
    ):
        assert wanted in seen
    assert all("unseen" not in name for _, name in seen)
    assert handle.get_new_events() == []
    handle.stop()
    with pytest.raises(NotFoundException):
        sandbox.files.watch_dir("missing")


def test_watch_below(sandbox: Sandbox) -> None:
    sandbox.files.make_dir("watched/old")
    handle = sandbox.files.watch_dir("watched", recursive=True, include_entry=True)
    sandbox.files.write("watched/old/a", "12345")
    sandbox.commands.run("mkdir -p watched/new/er; echo 1 > watched/new/er/b")
    time.sleep(0.2)
    events = handle.get_new_events()
    names = {event.name for event in events if event.type is FilesystemEventType.CREATE}
    assert names >= {"old/a", "new", "new/er", "new/er/b"}
    (entry,) = {event.entry.size for event in events if event.name == "old/a" and event.entry}
    assert entry == 5
    handle.stop()


def test_a_watch_goes_on_after_many_events(sandbox: Sandbox) -> None:
    handle = sandbox.files.watch_dir(".", include_entry=True)
    seen = set[str]()
    for turn in range(10):
        sandbox.commands.run(f"seq -f {turn}-%.0f 300 | xargs touch")
        seen |= {event.name for event in handle.get_new_events() if event.entry}
    assert len(seen) == 3000, "it ended where what it sent and what it was granted were counted otherwise"


def test_a_new_folder_s_files_are_told_as_written(sandbox: Sandbox) -> None:
    sandbox.files.make_dir("whole")
    handle = sandbox.files.watch_dir("whole", recursive=True)
    sandbox.commands.run("mkdir -p whole/new/er; echo a > whole/new/a; echo b > whole/new/er/b")
    seen = {(event.type.value, event.name) for event in handle.get_new_events()}
    assert seen >= {(kind, name) for kind in ("create", "write") for name in ("new/a", "new/er/b")}
    handle.stop()


@pytest.mark.parametrize("size", [1000, 3_000_000])
def test_ranges_of_a_file(sandbox: Sandbox, size: int) -> None:
    content = random.Random(size).randbytes(size)
    sandbox.files.write("a file ü.bin", content)
    url = sandbox.download_url("a file ü.bin")

    def get(**headers: str) -> tuple[int, bytes, Message]:
        asked = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, headers=asked)) as reply:
                return reply.status, reply.read(), reply.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read(), error.headers

    _, whole, headers = get()
    assert (whole, headers["Content-Length"], headers["Accept-Ranges"]) == (content, str(size), "bytes")
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''a%20file%20%C3%BC.bin"
    numbers = random.Random(size)
    for _ in range(12):
        start = numbers.randrange(size)
        last = numbers.randrange(start, size)
        for text, part in (
            (f"{start}-{last}", slice(start, last + 1)),
            (f"{start}-", slice(start, None)),
            (f"-{start + 1}", slice(size - start - 1, None)),
            (f"{start}-{size + last}", slice(start, None)),
        ):
            status, found, told = get(Range=f"bytes={text}", If_Range=headers["Last-Modified"])
            assert (status, found) == (206, content[part]), text
            first, end, _ = part.indices(size)
            assert told["Content-Range"] == f"bytes {first}-{end - 1}/{size}"
            assert told["Content-Length"] == str(end - first)
    for text in (f"{size}-", f"{size}-{size + 5}", "-0"):
        status, _, told = get(Range=f"bytes={text}")
        assert (status, told["Content-Range"]) == (416, f"bytes */{size}")
    for text in ("lines=0-1", "bytes=5-2", "bytes=-", "bytes=a-b", "bytes=0-1,3-4"):
        assert get(Range=text)[:2] == (200, content), text
    assert get(Range="bytes=0-1", If_Range="Thu, 01 Jan 1970 00:00:00 GMT")[:2] == (200, content)
    assert get(Range="bytes=0-1", Accept_Encoding="gzip")[:2] == (206, content[:2])


def test_a_file_that_shrinks_is_not_told_as_whole(sandbox: Sandbox) -> None:
    sandbox.commands.run("truncate -s 60M big")
    with urllib.request.urlopen(sandbox.download_url("big")) as reply:
        reply.read(1000)
        sandbox.commands.run("truncate -s 2M big")
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            reply.read()


def test_an_upload_is_told_why_it_was_refused(sandbox: Sandbox, pool: PoolServer) -> None:
    """Also one whose body comes after its answer could be sent."""
    ended = Sandbox.create(timeout=60, **pool.where())
    ended.kill()
    for _ in range(60):
        with pytest.raises(AuthenticationException, match="stranger"):
            sandbox.files.write("refused", "x", user="stranger")
        with pytest.raises(SandboxNotRunningException, match="was not found"):
            ended.files.write("refused", "x")


def test_signed_urls(sandbox: Sandbox) -> None:
    sandbox.files.write("signed", "content")
    with urllib.request.urlopen(sandbox.download_url("signed", use_signature_expiration=60)) as reply:
        assert reply.read() == b"content"
    request = urllib.request.Request(sandbox.upload_url("up"), b"sent", {"Content-Type": "application/octet-stream"})
    with urllib.request.urlopen(request) as reply:
        assert reply.status == 200
    assert sandbox.files.read("up") == "sent"
    over = sandbox.download_url("signed", use_signature_expiration=-5)
    for url in (over, sandbox.download_url("signed").replace("path=signed", "path=up"), sandbox.upload_url("signed")):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url)
        assert caught.value.code in (401, 404)
        caught.value.close()
