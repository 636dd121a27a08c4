"""The provider `sandbox_gym` of `nemo_gym.sandbox`: sandboxes of a coding server that runs somewhere, over HTTP.

Its sandboxes are known by the server's cookie, so that another process can go on with one (`serialize_handle`,
`connect`). Needs nemo-gym.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import httpx2 as httpx
from nemo_gym.sandbox.providers.base import (
    SandboxCreateError,
    SandboxExecResult,
    SandboxHandle,
    SandboxSpec,
    SandboxStatus,
)

CHUNK_BYTES: Final = 8 << 20
TIMEOUT_CODE: Final = 125
_GRACE_S: Final = 90.0
_LONGEST_S: Final = 3600.0


class SandboxLost(RuntimeError):
    """The sandbox was lost; what it held is as of its last snapshot, and this command may or may not have run."""


class SandboxCallError(RuntimeError):
    """The server refused a call, or can't serve it now; the message says why."""


@dataclass(frozen=True)
class _Box:
    """What a handle holds: the cookie that names the sandbox, and its spec's part in each command."""

    cookie: str
    workdir: str
    env: Mapping[str, str] = field(default_factory=dict)


class SandboxGymProvider:
    """`sandbox: {sandbox_gym: {base_url: ..., token: ..., image: ...}}`.

    `image`: what the server's sandboxes are made of, where specs name an image; another one is refused.
    """

    name = "sandbox_gym"

    def __init__(self, base_url: str = "http://127.0.0.1:8080", token: str = "", image: str = "") -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._image = image
        self._client = httpx.AsyncClient(base_url=base_url.rstrip("/"), headers=headers, cookies=None)

    async def create(self, spec: SandboxSpec) -> SandboxHandle:
        """Raises SandboxCreateError, also for what a spec asks for that no sandbox here has."""
        _check(spec, self._image)
        timeout_s = float(spec.ready_timeout_s or _GRACE_S)
        try:
            answer = await self._client.post("/sandbox/create", json={}, timeout=timeout_s)
            if answer.status_code != 200:
                raise SandboxCreateError(f"sandbox_gym: {_why(answer)}")
            box = _Box(_cookie(answer), spec.workdir or "/workspace", {**spec.env})
            handle = SandboxHandle(str(answer.json()["id"]), self.name, box)
            await self._made(box)
        except (httpx.HTTPError, SandboxCallError) as error:
            raise SandboxCreateError(f"sandbox_gym: {error or type(error).__name__}") from error
        finally:
            self._client.cookies.clear()
        return handle

    async def exec(
        self,
        handle: SandboxHandle,
        command: str,
        *,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_s: float | None = None,
        user: str | int | None = None,
    ) -> SandboxExecResult:
        """A command that ran too long has error_type "timeout". Raises SandboxLost, SandboxCallError, ValueError."""
        if user is not None:
            raise ValueError("sandbox_gym runs every command as the sandbox's own user; leave user out")
        box: _Box = handle.raw
        limit_s = min(float(timeout_s), _LONGEST_S) if timeout_s is not None else _LONGEST_S
        wanted = {"command": command, "cwd": cwd or box.workdir, "env": {**box.env, **(env or {})}}
        done = await self._call(box, "exec", {**wanted, "timeout_s": limit_s}, limit_s)
        kind = "timeout" if done["timed_out"] else "output_truncated" if done["truncated"] else None
        code = TIMEOUT_CODE if done["timed_out"] else int(str(done["exit_code"]))
        return SandboxExecResult(str(done["stdout"]), str(done["stderr"]), code, kind)

    async def upload_file(self, handle: SandboxHandle, source_path: Path, target_path: str) -> None:
        """Parents are made. Raises SandboxLost, SandboxCallError, OSError."""
        content, box = await anyio.Path(source_path).read_bytes(), handle.raw
        target = _absolute(target_path, box)
        for start in range(0, max(1, len(content)), CHUNK_BYTES):
            part = base64.b64encode(content[start : start + CHUNK_BYTES]).decode()
            await self._call(box, "write", {"path": target, "content": part, "append": start > 0}, _GRACE_S)

    async def download_file(self, handle: SandboxHandle, source_path: str, target_path: Path) -> None:
        """Raises SandboxLost, SandboxCallError (no such file), OSError."""
        box: _Box = handle.raw
        wanted = {"path": _absolute(source_path, box), "max_bytes": CHUNK_BYTES}
        offset, part = 0, await self._read(box, {**wanted, "offset": 0})
        await anyio.Path(target_path).parent.mkdir(parents=True, exist_ok=True)
        async with await anyio.open_file(target_path, "wb") as file:
            while part:
                await file.write(part)
                offset += len(part)
                part = await self._read(box, {**wanted, "offset": offset}) if len(part) == CHUNK_BYTES else b""

    async def status(self, handle: SandboxHandle) -> SandboxStatus:
        """Asleep is running: the next call wakes it."""
        try:
            running = (await self._call(handle.raw, "status", {}, _GRACE_S))["running"]
        except SandboxCallError:
            return SandboxStatus.UNKNOWN
        return SandboxStatus.RUNNING if running else SandboxStatus.STOPPED

    async def close(self, handle: SandboxHandle) -> None:
        """Ends the sandbox; again is fine. Raises SandboxCallError."""
        await self._call(handle.raw, "close", {}, _GRACE_S)

    async def aclose(self) -> None:
        """Ends this client; sandboxes go on."""
        await self._client.aclose()

    async def serialize_handle(self, handle: SandboxHandle, *, scope: str | None = None) -> dict[str, object]:
        """What `connect` needs in another process, but for the token. Its holder controls the sandbox."""
        box: _Box = handle.raw
        return {"sandbox_id": handle.sandbox_id, "cookie": box.cookie, "workdir": box.workdir, "env": dict(box.env)}

    async def connect(self, descriptor: Mapping[str, object]) -> SandboxHandle:
        """The handle of a descriptor. Raises SandboxLost where its sandbox is no more."""
        env = descriptor.get("env")
        environment = {str(key): str(value) for key, value in env.items()} if isinstance(env, Mapping) else {}
        box = _Box(str(descriptor["cookie"]), str(descriptor.get("workdir") or "/workspace"), environment)
        handle = SandboxHandle(str(descriptor["sandbox_id"]), self.name, box)
        if await self.status(handle) is not SandboxStatus.RUNNING:
            raise SandboxLost(f"sandbox {handle.sandbox_id} is not held by this server")
        return handle

    async def _made(self, box: _Box) -> None:
        wanted = {"command": 'mkdir -p -- "$HERE"', "env": {"HERE": box.workdir}, "timeout_s": 30}
        done = await self._call(box, "exec", wanted, 30)
        if done["exit_code"] != 0:
            raise SandboxCallError(f"workdir {box.workdir}: {done['stderr']}")

    async def _read(self, box: _Box, wanted: dict[str, object]) -> bytes:
        return base64.b64decode(str((await self._call(box, "read", wanted, _GRACE_S))["content"]))

    async def _call(self, box: _Box, what: str, body: dict[str, object], wait_s: float) -> dict[str, object]:
        headers = {"Cookie": box.cookie}
        try:
            answer = await self._client.post(f"/sandbox/{what}", json=body, headers=headers, timeout=wait_s + _GRACE_S)
        except httpx.HTTPError as error:
            raise SandboxCallError(f"sandbox_gym: {error or type(error).__name__}") from error
        finally:
            self._client.cookies.clear()
        if answer.status_code != 200:
            raise SandboxCallError(f"sandbox_gym: {_why(answer)}")
        document = answer.json()
        if document.get("lost"):
            raise SandboxLost(f"{what}: the sandbox was lost; its files are as of its last snapshot")
        return dict(document)


def _check(spec: SandboxSpec, image: str) -> None:
    asked = spec.resources
    for what, given in (("image", spec.image if spec.image != image else None), ("entrypoint", spec.entrypoint)):
        if given:
            raise SandboxCreateError(f"sandbox_gym: {what} {given!r} is not what the server's sandboxes are made of")
    if asked.gpu:
        raise SandboxCreateError("sandbox_gym: its sandboxes have no GPU")


def _cookie(answer: httpx.Response) -> str:
    return "; ".join(f"{name}={value}" for name, value in answer.cookies.items())


def _absolute(path: str, box: _Box) -> str:
    return path if path.startswith("/") else f"{box.workdir}/{path}"


def _why(answer: httpx.Response) -> str:
    try:
        detail = answer.json().get("detail")
    except (json.JSONDecodeError, AttributeError):
        detail = None
    return f"{answer.status_code} {detail or answer.text[:200]}"
