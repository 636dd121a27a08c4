"""The host's end of a session's commands and files, against replies that no honest sandbox gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from sandbox_gym.errors import RequestError, SandboxShort
from sandbox_gym.sandbox.session.client import MAX_ARGUMENT_BYTES, MAX_FILE_BYTES, Command, FileProblem, SessionClient

pytestmark = pytest.mark.anyio
ENDED = {"ok": True, "exit_code": 0, "timed_out": False, "sizes": [2, 1, 7], "stderr_sizes": [1, 0, 0]}
COMMAND = Command(("x",), 5.0, stdout_bytes=4, stderr_bytes=2)


@dataclass
class Answering:
    """A session that gives one reply to everything."""

    reply: Mapping[str, object]
    body: bytes = b""
    asked: list[tuple[Mapping[str, object], bytes, float]] = field(default_factory=list)

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        self.asked.append((request, body, within_s))
        return self.reply, self.body


async def test_a_command_goes_as_bytes_and_its_streams_come_apart() -> None:
    session = Answering(ENDED, b"abce")
    command = Command(("a b", "", "é"), 5.0, "/w", {"V": "=x"}, b"in", 4, 2, keep_background=True)
    ran = await SessionClient(session).exec(command)
    assert (ran.stdout, ran.stderr, ran.stdout_cut_bytes, ran.stderr_cut_bytes) == (b"abc", b"e", 7, 0)
    [(request, body, within_s)] = session.asked
    assert (body, request["args_bytes"], request["env_bytes"]) == ("a b\0\0é\0V==x\0in".encode(), 8, 5)
    assert (request["keep"], request["cwd"], within_s > 5) == (True, "/w", True)


WRONG: list[tuple[dict[str, Any], bytes]] = [
    ({"exit_code": "0"}, b"abce"),
    ({"exit_code": True}, b"abce"),
    ({"exit_code": -1}, b"abce"),
    ({"exit_code": 1 << 40}, b"abce"),
    ({"exit_code": None}, b"abce"),
    ({"timed_out": 0}, b"abce"),
    ({}, b"abc"),
    ({}, b"abce" * 1000),
    ({"sizes": [4, 1, 0]}, b"abcdee"),
    ({"stderr_sizes": [3, 0, 0]}, b"abceee"),
    ({"sizes": [-1, 4, 0]}, b"abce"),
    ({"sizes": [2.0, 1.0, 7.0]}, b"abce"),
    ({"sizes": {"0": 1}}, b"abce"),
    ({"sizes": [1 << 60, 0, 0]}, b"abce"),
]


@pytest.mark.parametrize(("change", "body"), WRONG)
async def test_a_reply_that_contradicts_itself_is_no_result(change: Mapping[str, object], body: bytes) -> None:
    with pytest.raises(RequestError, match="no account of itself"):
        await SessionClient(Answering({**ENDED, **change}, body)).exec(COMMAND)


@pytest.mark.parametrize("reply", [{}, {"ok": 1}, {"ok": "true"}, {"ok": False, "error": ["x"] * 10_000}])
async def test_what_was_not_done_is_a_bounded_error(reply: Mapping[str, object]) -> None:
    client = SessionClient(Answering(reply, b"data"))
    for call in (client.exec(COMMAND), client.read_file("/f"), client.write_file("/f", b"")):
        with pytest.raises(RequestError) as failed:
            await call
        assert len(str(failed.value)) < 1000


async def test_errors_have_the_kernels_names_and_nothing_else() -> None:
    for error, code in (
        ("ENOSPC: No space left on device", "ENOSPC"), ("ELOOP", "ELOOP"), ("<script>: x", "EIO"), ("E" * 99, "EIO"),
    ):  # fmt: skip
        client = SessionClient(Answering({"ok": False, "error": error}))
        for call in (client.read_file("/f", offset=1), client.write_file("/f", b"x", append=True)):
            with pytest.raises(FileProblem) as failed:
                await call
            assert (failed.value.code, failed.value.field) == (code, "path")
    with pytest.raises(SandboxShort, match="EAGAIN"):
        await SessionClient(Answering({"ok": False, "error": "EAGAIN: no process"})).exec(COMMAND)


async def test_more_than_was_asked_for_is_not_taken() -> None:
    client = SessionClient(Answering({"ok": True}, b"x" * 100))
    assert await client.read_file("/f", max_bytes=10) == b"x" * 10
    assert await client.read_file("/f", part_bytes=5) == b"x" * 5


@pytest.mark.parametrize(
    "command",
    [
        Command((), 1.0),
        Command(("a\0",), 1.0),
        Command(("\ud800",), 1.0),
        Command(("a",), 1.0, env={"V": "\0"}),
        Command(("x" * MAX_ARGUMENT_BYTES,), 1.0),
        Command(("x",), 1.0, stdin=bytes(MAX_FILE_BYTES + 1)),
    ],
)
async def test_a_command_that_can_not_be_sent_is_refused_here(command: Command) -> None:
    session = Answering(ENDED, b"abce")
    with pytest.raises(RequestError) as failed:
        await SessionClient(session).exec(command)
    assert (failed.value.field, session.asked) == ("command", [])


async def test_a_file_that_is_too_large_is_not_sent() -> None:
    session = Answering({"ok": True})
    with pytest.raises(RequestError):
        await SessionClient(session).write_file("/f", bytes(MAX_FILE_BYTES + 1))
    assert session.asked == []
