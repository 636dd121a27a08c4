"""inspect_ai's sandbox environment on our sandboxes: `sandbox="sandbox_gym"`, or `("sandbox_gym", "config.yaml")`.

Registered by entry point. The contract is inspect_ai's, told in SandboxEnvironment's docstrings; errors are mapped.
"""

from __future__ import annotations

import errno
import os
import posixpath
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, overload

import yaml
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel, Field

from sandbox_gym.client import CompletedCommand, NoSandbox, RequestRefused, Session, SessionTarget

PART_BYTES: Final = 6 << 20
"""Larger files and inputs go in parts of this size."""
MAX_STREAM_BYTES: Final = 7 << 20
"""The most that the server sends of one stream."""
NO_LIMIT_S: Final = 3600.0
"""The longest that the server lets a command run."""
_NOT_EXECUTABLE = 126
_ERRORS: Final[Mapping[str, type[OSError]]] = {
    "ENOENT": FileNotFoundError,
    "ENOTDIR": FileNotFoundError,
    "EACCES": PermissionError,
    "EPERM": PermissionError,
    "EROFS": PermissionError,
    "EISDIR": IsADirectoryError,
}


class SandboxGymConfig(BaseModel, frozen=True):
    """Where the server is, and what sessions there are seeded with. `root`: `exec` may name any user of the sandbox."""

    url: str = Field(default_factory=lambda: SessionTarget().url)
    working_dir: str = "/workspace"
    row: dict[str, object] | None = None
    root: bool = False


@sandboxenv(name="sandbox_gym")
class SandboxGymSandbox(SandboxEnvironment):
    """One session."""

    def __init__(self, session: Session, config: SandboxGymConfig) -> None:
        super().__init__()
        self._session, self._folder = session, config.working_dir
        self._own_names: frozenset[str] = frozenset()

    @classmethod
    def config_deserialize(cls, config: dict[str, object]) -> BaseModel:
        return SandboxGymConfig.model_validate(config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        wanted = _config(config)
        session = Session(SessionTarget(url=wanted.url, row=wanted.row, root=wanted.root))
        with _faults():
            await session.__aenter__()
        return {"default": cls(session, wanted)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for environment in environments.values():
            await environment.as_type(SandboxGymSandbox)._session.__aexit__(None, None, None)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """See the base class. A command whose time is up is not run again: it may have done half its work."""
        if user is None or user in await self._users():
            user = ""
        stdin = input.encode() if isinstance(input, str) else input or b""
        folder = self._at(cwd or "")
        with _faults():
            if len(stdin) > PART_BYTES:
                done = await self._with_large_input(cmd, stdin, folder, env, timeout, user)
            else:
                done = await self._run(cmd, folder, env, timeout, stdin, user)
        return _result(cmd, done, timeout)

    async def _users(self) -> frozenset[str]:
        """What the sandbox's user is called: its name, where it has one, and its number."""
        if not self._own_names:
            with _faults():
                said = await self._run(["sh", "-c", "id -u; id -un 2>/dev/null"], "/", None, 60)
            self._own_names = frozenset(said.stdout.decode("utf-8", "replace").split())
        return self._own_names

    async def _with_large_input(
        self, cmd: list[str], stdin: bytes, folder: str, env: dict[str, str] | None, timeout: int | None, user: str
    ) -> CompletedCommand:
        file = self._at(f".stdin-{secrets.token_hex(8)}")
        await self._write(file, stdin)
        try:
            from_file = ["bash", "-c", 'file=$1; shift; exec "$@" <"$file"', "bash", file, *cmd]
            return await self._run(from_file, folder, env, timeout, user=user)
        finally:
            await self._run(["rm", "-f", "--", file], "/", None, 60)

    async def _run(
        self,
        cmd: list[str],
        folder: str,
        env: dict[str, str] | None,
        timeout: float | None,
        stdin: bytes = b"",
        user: str = "",
    ) -> CompletedCommand:
        limit = min(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE, MAX_STREAM_BYTES)
        return await self._session.run(
            cmd, cwd=folder, env=env, timeout_s=timeout or NO_LIMIT_S, stdin=stdin, output_bytes=limit, user=user
        )

    async def write_file(self, file: str, contents: str | bytes) -> None:
        with _faults(file):
            await self._write(self._at(file), contents.encode() if isinstance(contents, str) else contents)

    async def _write(self, path: str, data: bytes) -> None:
        await self._session.write(path, data[:PART_BYTES])
        for start in range(PART_BYTES, len(data), PART_BYTES):
            await self._session.write(path, data[start : start + PART_BYTES], append=True)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        with _faults(file):
            data = await self._read(self._at(file))
        return data.decode("utf-8") if text else data

    async def _read(self, path: str) -> bytes:
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        try:
            data = await self._session.read(path)
        except RequestRefused as error:
            if error.code != "EFBIG":
                raise
            data = await self._read_parts(path, limit)
        if len(data) > limit:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return data

    async def _read_parts(self, path: str, limit: int) -> bytes:
        """A file that is too large for one answer, up to one part over the limit."""
        data = bytearray()
        while len(data) <= limit:
            part = await self._session.read_part(path, len(data), PART_BYTES)
            data += part
            if len(part) < PART_BYTES:
                break
        return bytes(data)

    def _at(self, path: str) -> str:
        return posixpath.join(self._folder, path)


def _config(config: SandboxEnvironmentConfigType | None) -> SandboxGymConfig:
    """A configuration, a YAML file with one, or nothing, which is the server that the environment names."""
    if config is None:
        return SandboxGymConfig()
    if isinstance(config, str):
        return SandboxGymConfig.model_validate(yaml.safe_load(Path(config).read_text("utf-8")) or {})
    return config if isinstance(config, SandboxGymConfig) else SandboxGymConfig.model_validate(config.model_dump())


def _result(cmd: list[str], done: CompletedCommand, timeout: int | None) -> ExecResult[str]:
    if done.exit_code is None:
        raise TimeoutError(f"the command was ended after {timeout or NO_LIMIT_S:g} seconds")
    stdout, stderr = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    if done.cut:
        raise OutputLimitExceededError(_limit_text(), stdout or stderr)
    if done.exit_code == _NOT_EXECUTABLE and "permission denied" in stderr.lower():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), cmd[0])
    return ExecResult(done.exit_code == 0, done.exit_code, stdout, stderr)


def _limit_text() -> str:
    if SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE <= MAX_STREAM_BYTES:
        return str(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR)
    return f"{MAX_STREAM_BYTES >> 20} MiB"


@contextmanager
def _faults(file: str = "") -> Iterator[None]:
    """Our errors as inspect_ai's."""
    try:
        yield
    except NoSandbox as error:
        raise SandboxUnavailableError(str(error)) from error
    except RequestRefused as error:
        if error.field == "user":
            raise SandboxUserUnsupportedError(f"user {error.problem}; {error.remedy}") from error
        kind = _ERRORS.get(error.code)
        if kind is None:
            raise
        number = getattr(errno, error.code)
        raise kind(number, os.strerror(number), file) from error
