"""What a software engineering agent works with: its shell, an editor, search, the visible tests, handing in.

All in the session's own sandbox; answers go to a model as they are, so they are short and plain. Hidden tests never
come near here.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import anyio.to_thread
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.errors import BoxLost, RequestError
from sandbox_gym.sandbox.session.client import FileProblem
from sandbox_gym.server.protocol.resources import Tool, ToolCall
from sandbox_gym.server.swe.arguments import Create, Find, Insert, RunTests, StrReplace, Submit, View
from sandbox_gym.server.swe.edit import around, inserted, line_count, numbered, replaced
from sandbox_gym.server.swe.find import FoundInFiles, find_command, list_command, listed
from sandbox_gym.server.swe.patch import Submissions, take_patch
from sandbox_gym.server.tools.files import FILE_TOOLS
from sandbox_gym.server.tools.session_client import ToolClient, absolute_path, encoded
from sandbox_gym.server.tools.session_tools import RESTORED, bash
from sandbox_gym.server.tools.shapes import tool_method
from sandbox_gym.verifiers.swe import read_patch

EDITED_BYTES: Final = 4 << 20
"""Files that are viewed and edited whole; longer ones are for bash."""
MAX_SHOWN_PATCH: Final = 1 << 18
MAX_SHOWN_FILES: Final = 100


class TestsRan(TypedDict):
    """What the tests printed, and how they ended."""

    output: str
    exit_code: int | None
    timed_out: bool
    state_lost: bool


class Submitted(TypedDict):
    """The session's work as a patch."""

    submitted: bool
    size_bytes: int
    sha256: str
    files: list[str]
    files_left_out: int
    patch: str | None
    state_lost: bool


@dataclass(frozen=True, slots=True)
class SweTools:
    """The tools of one task's sessions. `base` is the commit that a patch is made against: an id, or a ref's name."""

    workdir: str
    base: str
    test_command: str = ""
    """Runs the visible tests in `workdir`; ids that are asked for take `{test_ids}`'s place in it, else they follow."""
    test_timeout_s: float = 600.0
    submissions: Submissions = field(default_factory=Submissions)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """By name: each a route, and a tool over MCP."""
        return {
            "bash": bash,
            "view": self.view,
            "str_replace": self.str_replace,
            "create": self.create,
            "insert": self.insert,
            "find": self.find,
            "run_tests": self.run_tests,
            "submit": self.submit,
            **FILE_TOOLS,
        }

    @tool_method(View, str)
    async def view(self, engine: Engine, call: ToolCall, wanted: View) -> str:
        """A file's lines with their numbers, or a folder to two levels."""
        client, path = ToolClient(engine, call), absolute_path(self.workdir, wanted.path)
        try:
            data = await client.read_file(path, max_bytes=EDITED_BYTES)
        except FileProblem as error:
            if error.code != "EISDIR":
                raise
            return _with_notice(client, await self._folder(client, path, wanted))
        if b"\0" in data[:65536]:
            remedy = "look at it with bash, for example file or xxd"
            raise RequestError("path", f"{wanted.path[:200]!r} is a binary file of {len(data)} bytes", remedy)
        first, last = _range(wanted.view_range, line_count(data))
        return _with_notice(client, numbered(data, first, last) or "[the file is empty]\n")

    async def _folder(self, client: ToolClient, path: str, wanted: View) -> str:
        if wanted.view_range is not None:
            raise RequestError("view_range", "is for files, and the path is none", "leave it out")
        return listed(await client.exec(list_command(path)), path)

    @tool_method(StrReplace, str)
    async def str_replace(self, engine: Engine, call: ToolCall, wanted: StrReplace) -> str:
        """One exact replacement, and the lines around it as they are now."""
        client, path = ToolClient(engine, call), absolute_path(self.workdir, wanted.path)
        old, new = encoded(wanted.old_str, "old_str"), encoded(wanted.new_str, "new_str")
        before = await client.read_file(path, max_bytes=EDITED_BYTES)
        after, line = replaced(before, old, new)
        await _rewrite(client, path, before, after)
        return _with_notice(client, f"edited {wanted.path}:\n{around(after, line, wanted.new_str.count(chr(10)) + 1)}")

    @tool_method(Create, str)
    async def create(self, engine: Engine, call: ToolCall, wanted: Create) -> str:
        """Write a new file; one that is there is only replaced with `overwrite`."""
        client, path = ToolClient(engine, call), absolute_path(self.workdir, wanted.path)
        data = encoded(wanted.file_text, "file_text")
        before = await _existing(client, path)
        if before is not None and not wanted.overwrite:
            remedy = "edit it with str_replace or insert, or send overwrite: true"
            raise RequestError("path", f"{wanted.path[:200]!r} exists, with {len(before)} bytes", remedy)
        await _rewrite(client, path, before or b"", data)
        verb = "created" if before is None else "replaced"
        return _with_notice(client, f"{verb} {wanted.path}: {line_count(data)} lines, {len(data)} bytes\n")

    @tool_method(Insert, str)
    async def insert(self, engine: Engine, call: ToolCall, wanted: Insert) -> str:
        """Put lines into a file after line `insert_line`; 0 is before the first."""
        client, path = ToolClient(engine, call), absolute_path(self.workdir, wanted.path)
        text = encoded(wanted.insert_text, "insert_text")
        before = await client.read_file(path, max_bytes=EDITED_BYTES)
        after, count = inserted(before, wanted.insert_line, text)
        await _rewrite(client, path, before, after)
        return _with_notice(client, f"edited {wanted.path}:\n{around(after, wanted.insert_line + 1, count)}")

    @tool_method(Find, str)
    async def find(self, engine: Engine, call: ToolCall, wanted: Find) -> str:
        """Files by name or lines by content, below a path."""
        client, path = ToolClient(engine, call), absolute_path(self.workdir, wanted.path)
        encoded(wanted.pattern, "pattern")
        if "\0" in wanted.pattern or "\n" in wanted.pattern:
            raise RequestError("pattern", "holds NUL or a line end", "give one line")
        ran = await client.exec(find_command(wanted.pattern, path, wanted.kind))
        return _with_notice(client, FoundInFiles.read(ran, path, wanted.kind).text())

    @tool_method(RunTests, TestsRan)
    async def run_tests(self, engine: Engine, call: ToolCall, wanted: RunTests) -> TestsRan:
        """Run the visible tests, in a subshell of the session's shell."""
        if not self.test_command:
            raise RequestError("run_tests", "has no command for this task", "run what tests there are with bash")
        ids = shlex.join(encoded(one, "test_ids").decode() for one in wanted.test_ids)
        if "\0" in ids:
            raise RequestError("test_ids", "hold NUL", "leave it out")
        holder = "{test_ids}" in self.test_command
        line = self.test_command.replace("{test_ids}", ids) if holder else f"{self.test_command} {ids}"
        command = f"(cd -- {shlex.quote(self.workdir)} && {line.strip()}\n)"
        arguments = {"command": command, "timeout_s": self.test_timeout_s}
        ran = await bash(engine, replace(call, arguments=arguments))
        return {
            "output": ran["output"],
            "exit_code": ran["exit_code"],
            "timed_out": ran["timed_out"],
            "state_lost": ran["state_lost"],
        }

    @tool_method(Submit, Submitted)
    async def submit(self, engine: Engine, call: ToolCall, _: Submit) -> Submitted:
        """Hand in the work; `patch` is null where it is no short UTF-8 text."""
        client = ToolClient(engine, call)
        patch = await self.patch(engine, call, client)
        if client.stale:
            raise BoxLost(f"{RESTORED}nothing was handed in: look at what is left, and submit again")
        reading = await anyio.to_thread.run_sync(read_patch, patch)  # 16 MiB take a second
        if patch and reading.problem:
            raise RequestError("patch", f"would be refused: {reading.problem}", "undo that, and submit again")
        self.submissions.put(call.session_id, patch)
        text = patch.decode("utf-8", "replace") if len(patch) <= MAX_SHOWN_PATCH else None
        return {
            "submitted": True,
            "size_bytes": len(patch),
            "sha256": hashlib.sha256(patch).hexdigest(),
            "files": [_printable(path) for path in reading.paths[:MAX_SHOWN_FILES]],
            "files_left_out": max(0, len(reading.paths) - MAX_SHOWN_FILES),
            "patch": text if text is not None and text.encode() == patch else None,
            "state_lost": client.restored,
        }

    async def patch(self, engine: Engine, call: ToolCall, client: ToolClient | None = None) -> bytes:
        """The session's work as a patch, now. Raises PatchFailed, BoxLost and what `Sessions.call` raises."""
        return await take_patch(client or ToolClient(engine, call), self.workdir, self.base)


def _range(wanted: tuple[int, int] | None, count: int) -> tuple[int, int]:
    if wanted is None:
        return 1, count
    first, last = wanted[0], count if wanted[1] == -1 else wanted[1]
    if not 1 <= first <= max(count, 1) or last < first:
        raise RequestError(
            "view_range", f"is {list(wanted)}, and the file has {count} lines", "give [first, last], from 1"
        )
    return first, last


async def _existing(client: ToolClient, path: str) -> bytes | None:
    try:
        return await client.read_file(path)
    except FileProblem as error:
        if error.code == "ENOENT":
            return None
        raise


async def _rewrite(client: ToolClient, path: str, before: bytes, after: bytes) -> None:
    """Write the file; where there is no room for it, what was there."""
    try:
        await client.write_file(path, after)
    except FileProblem as error:
        if error.code in ("ENOSPC", "EDQUOT") and before:
            await client.write_file(path, before)
        raise


def _with_notice(client: ToolClient, text: str) -> str:
    """The answer, after a line that says so where the sandbox was lost before the call."""
    return RESTORED + text if client.restored else text


def _printable(path: str) -> str:
    return path.encode("utf-8", "replace").decode()[:300]
