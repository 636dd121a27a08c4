"""A session on a running server, over HTTP: commands and files by its tool routes. Knows no agent framework.

A fault of the server or the sandbox (none free, one lost, no answer) is `NoSandbox`, never the output of a command.
"""

from __future__ import annotations

import base64
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

import anyio
import httpx2 as httpx

from sandbox_gym.client.attempts import Attempts, document_of, refusal, retry_after_s
from sandbox_gym.client.errors import NoSandbox, SandboxLost
from sandbox_gym.client.servers import Servers
from sandbox_gym.client.verdict import Document, Verdict

DEFAULT_URL: Final = "http://127.0.0.1:8080"
PATIENCE_S: Final = 600.0
"""How long a full server is asked again, and how long a call may wait beyond its own time."""
CLOSE_S: Final = 60.0
SEED_TRIES: Final = 3
_TOO_MANY = 429
_UNAVAILABLE = 503
_FAILED_SEED: Final = "X-Sandbox-Gym-No-Verdict"
"""In the answer of a server that collects rows, whose failed seeds are answered 200."""
_REFUSED = 422
_LOST_KIND: Final = "sandbox_lost"


@dataclass(frozen=True, slots=True)
class CompletedCommand:
    """A command that ran. `exit_code` is None when its time was up; streams over the bound lost their middles."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    cut: bool
    state_lost: bool
    """The sandbox was lost before this call: files are as of its last snapshot."""


@dataclass(frozen=True, slots=True)
class SessionTarget:
    """Which server, and what a session there is seeded with. `row`: a dataset's row, for servers that need one."""

    url: str = field(default_factory=lambda: os.environ.get("SANDBOX_GYM_URL", DEFAULT_URL).split()[0])
    token: str = field(default_factory=lambda: os.environ.get("SANDBOX_GYM_TOKEN", ""), repr=False)
    row: Mapping[str, object] | None = None
    tenant: str = ""
    root: bool = False
    """Commands may name a `user`, root included; for servers that allow it."""


def headers_of(token: str, tenant: str) -> dict[str, str]:
    """Of every request: as whom it is made."""
    known = {"Authorization": token and f"Bearer {token}", "X-Sandbox-Gym-Tenant": tenant}
    return {"Content-Type": "application/json", **{name: value for name, value in known.items() if value}}


class Session:
    """Use as `async with`; it is closed for good at the end."""

    def __init__(self, target: SessionTarget) -> None:
        self._target = target
        self.session_id = uuid.uuid4().hex
        self._http = httpx.AsyncClient(base_url=target.url, headers=headers_of(target.token, target.tenant))

    async def __aenter__(self) -> Self:
        try:
            seed = {"resources_session_id": self.session_id, "task_data": self._target.row, "root": self._target.root}
            await self._post("seed_session", seed, 0, tries=SEED_TRIES)
        except BaseException:
            await self._http.aclose()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """A server that is gone closes its sessions itself, after their time."""
        with anyio.move_on_after(CLOSE_S, shield=True), suppress(NoSandbox):
            await self._post("close_session", {"resources_session_id": self.session_id}, 0)
        with anyio.CancelScope(shield=True):
            await self._http.aclose()

    async def run(
        self,
        command: Sequence[str],
        *,
        cwd: str,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        output_bytes: int,
        user: str = "",
    ) -> CompletedCommand:
        """One command in a process of its own. Raises NoSandbox, RequestRefused."""
        said = await self._post(
            "exec",
            {
                "command": list(command),
                "stdin": base64.b64encode(stdin).decode(),
                "cwd": cwd,
                "env": dict(env or {}),
                "timeout_s": timeout_s,
                "output_bytes": output_bytes,
                "encoding": "base64",
                "user": user,
            },
            timeout_s,
        )
        code = said.get("exit_code")
        return CompletedCommand(
            code if isinstance(code, int) else None,
            _decoded(said, "stdout"),
            _decoded(said, "stderr"),
            bool(said.get("stdout_cut_bytes") or said.get("stderr_cut_bytes")),
            said.get("state_lost") is True,
        )

    async def read(self, path: str) -> bytes:
        """A file of at most 16 MiB. Raises NoSandbox, RequestRefused."""
        return _decoded(await self._post("read_file", {"path": path, "encoding": "base64"}, 0), "content")

    async def read_part(self, path: str, offset: int, max_bytes: int) -> bytes:
        """At most so many bytes of a file, from `offset` on; fewer where it ends. Raises NoSandbox, RequestRefused."""
        wanted = {"path": path, "encoding": "base64", "offset": offset, "max_bytes": max_bytes}
        return _decoded(await self._post("read_file", wanted, 0), "content")

    async def write(self, path: str, data: bytes, *, append: bool = False) -> None:
        """Write a file whole, or add to its end, at most 16 MiB. Raises NoSandbox, RequestRefused."""
        content = base64.b64encode(data).decode()
        wanted = {"path": path, "content": content, "encoding": "base64", "append": append}
        await self._post("write_file", wanted, 0)

    async def tool(self, name: str, arguments: Mapping[str, object], *, timeout_s: float = 60.0) -> Document | str:
        """What the server's tool of that name answers: `bash`, `python`, `run_code` and so on. `timeout_s`: how long it
        may take by its arguments. Raises NoSandbox, RequestRefused."""
        reply = await self._sent(name, arguments, timeout_s)
        return reply.text if reply.headers.get("Content-Type", "").startswith("text/") else _checked(name, reply)

    async def verify(self, row: Document, *, key: str | None = None, deadline_s: float = PATIENCE_S) -> Verdict:
        """What the session's work is worth, by a row with or without an answer's text. It ends the session's state.
        Raises RequestRefused, NoVerdict."""
        body = row if {"response", "answer", "model_patch"} & row.keys() else {**row, "answer": ""}
        attempts = Attempts(self._http, Servers([self._target.url]))
        return await attempts.verify(body, key or uuid.uuid4().hex, deadline_s)

    async def _post(self, route: str, body: Mapping[str, object], timeout_s: float, *, tries: int = 1) -> Document:
        return _checked(route, await self._sent(route, body, timeout_s, tries=tries))

    async def _sent(
        self, route: str, body: Mapping[str, object], timeout_s: float, *, tries: int = 1
    ) -> httpx.Response:
        """`tries`: of a call that may be repeated, where the server says that it can't serve it now."""
        content = json.dumps(body)
        try:
            with anyio.fail_after(timeout_s + PATIENCE_S):
                while True:
                    reply = await self._http.post(f"/{route}", content=content, timeout=timeout_s + PATIENCE_S)
                    tries -= reply.status_code != _TOO_MANY  # which has not run
                    if tries <= 0 or reply.status_code not in (_TOO_MANY, _UNAVAILABLE):
                        return reply
                    await anyio.sleep(min(30.0, retry_after_s(reply)))
        except (httpx.HTTPError, TimeoutError) as error:
            raise NoSandbox(f"{self._target.url}/{route} gives no answer: {error or type(error).__name__}") from error


def _checked(route: str, reply: httpx.Response) -> Document:
    document = document_of(reply)
    if reply.status_code == _REFUSED:
        raise refusal(reply)
    if reply.status_code != 200 or not reply.headers.get("Content-Type", "").startswith("application/json"):
        lost = document.get("failure_kind") == _LOST_KIND
        said = f"/{route} answers {reply.status_code}: {document.get('detail', 'no JSON object')}"
        raise (SandboxLost if lost else NoSandbox)(said)
    if route == "seed_session" and _FAILED_SEED in reply.headers:
        raise NoSandbox(f"the session could not be seeded: {reply.headers[_FAILED_SEED]}")
    return document


def _decoded(said: Mapping[str, object], name: str) -> bytes:
    value = said.get(name)
    if not isinstance(value, str):
        raise NoSandbox(f"the server's answer has no {name}")
    return base64.b64decode(value)
