"""The steps of one template build, run in its sandbox as the sandbox's user."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import anyio.abc

from sandbox_gym.e2b_server.builds.shapes import BuildStep
from sandbox_gym.e2b_server.control.shapes import checked
from sandbox_gym.e2b_server.envd.files import Upload
from sandbox_gym.e2b_server.envd.process import Processes
from sandbox_gym.e2b_server.envd.shapes import StartProcess
from sandbox_gym.e2b_server.sandboxes.processes import number
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import HOME, USER

READY_S: Final = 300.0
"""For a start command to be ready."""
POLL_S: Final = 0.5
PIECE: Final = 1 << 20
MAX_ENVIRONMENT: Final = 128 * 1024
"""Characters of a template's variables, with those of the templates that it began from."""
_SHOWN: Final = 2000
_ROOT: Final = "root"
_COPY: Final = r"""
set -e
archive=$1 source=$2 target=$3 mode=$4
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked" "$archive"' EXIT
tar -xf "$archive" -C "$unpacked" --no-same-owner
cd "$unpacked"
shopt -s nullglob dotglob globstar
if [ -e "$source" ]; then found=("$source"); else IFS= found=($source); fi
[ ${#found[@]} -gt 0 ] || { echo "nothing matches $source" >&2; exit 1; }
[ -z "$mode" ] || chmod -R "$mode" -- "${found[@]}"
if [ ${#found[@]} -eq 1 ] && [ -d "${found[0]}" ]; then
  mkdir -p -- "$target"; cp -a -- "${found[0]}/." "$target"
elif [ -e "$source" ] && [ ! -d "$target" ] && [ "${target%/}" = "$target" ]; then
  mkdir -p -- "$(dirname -- "$target")"; cp -a -- "$source" "$target"
else
  mkdir -p -- "$target"; cp -a -- "${found[@]}" "$target"
fi
"""
"""As Docker's COPY: a folder's content, a file under its new name or into a folder, or all that a pattern matches."""
Log = Callable[[str, str], None]
"""Called with a level and a line."""


def _unheard(level: str, line: str) -> None:
    """Of a command that is no step."""


class StepFailed(Exception):
    """A step failed by what the template says. `step`: `base`, its number from 1, or `finalize`."""

    def __init__(self, message: str, step: str) -> None:
        super().__init__(message)
        self.step = step


@dataclass(slots=True)
class Place:
    """What the steps so far have set for those that follow, and for sandboxes of the template."""

    env: dict[str, str] = field(default_factory=dict)
    workdir: str = ""
    user: str = USER


class StepRunner:
    """Runs commands in one sandbox. `files`: where the tar of a hash is."""

    def __init__(
        self,
        sandbox: Sandbox,
        tasks: anyio.abc.TaskGroup,
        place: Place,
        log: Log = _unheard,
        files: Callable[[str], Path] = Path,
    ) -> None:
        self._sandbox, self._tasks, self._files = sandbox, tasks, files
        self.place, self._log = place, log

    async def run(self, step: BuildStep, name: str) -> None:
        """Raises StepFailed, BoxLost."""
        args = step.args
        if step.type == "ENV":
            self._set(dict(zip(args[::2], args[1::2], strict=False)), name)
        elif step.type == "USER":
            self.place.user = self._checked(args[0] if args else "", name, "set user")
        elif step.type == "WORKDIR":
            folder = self._absolute(args[0] if args else "")
            await self._must("mkdir -p -- " + shlex.quote(folder), name, f"set workdir {folder!r}")
            self.place.workdir = folder
        elif step.type == "RUN":
            command = args[0] if args else ""
            what = f"run command {command[:200]!r}"
            self._checked(args[1] if len(args) > 1 and args[1] else self.place.user, name, what)
            await self._must(command, name, what)
        else:
            await self._copy(step, name)

    def _set(self, variables: Mapping[str, str], name: str) -> None:
        self.place.env.update(variables)
        if any(not one or "=" in one for one in variables):
            raise StepFailed("failed to set variables: a name is empty or has a '='", name)
        if sum(len(one) + len(text) for one, text in self.place.env.items()) > MAX_ENVIRONMENT:
            raise StepFailed(f"failed to set variables: together over {MAX_ENVIRONMENT} characters", name)

    def _checked(self, user: str, name: str, what: str) -> str:
        if user not in (USER, _ROOT):
            raise StepFailed(
                f"failed to {what}: command failed: unauthenticated: invalid username: {user[:40]!r}", name
            )
        if user == _ROOT:
            self._log("warn", f"there is no root in this pool's sandboxes: this runs as {USER!r}")
        return user

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.place.workdir or HOME, path))

    async def _must(self, command: str, name: str, what: str) -> None:
        code = await self.command(command)
        if code != 0:
            raise StepFailed(f"failed to {what}: exit status {code}", name)

    async def _copy(self, step: BuildStep, name: str) -> None:
        source, target, user, mode = (*step.args, "", "", "", "")[:4]
        if not source or not target or step.files_hash is None:
            raise StepFailed("COPY has a source, a target and its files' hash", name)
        self._checked(user or self.place.user, name, f"copy {source!r}")
        archive = self._files(step.files_hash)
        if not await anyio.Path(archive).exists():
            raise StepFailed(f"the files of {source!r} were not uploaded", name)
        inside = f"/tmp/.copy-{step.files_hash[:32]}.tar"
        assert self._sandbox.work is not None
        upload = Upload(self._sandbox.work.envd, inside, {})
        try:
            async with await anyio.open_file(archive, "rb") as file:
                while piece := await file.read(PIECE):
                    await upload.feed(piece)
            await upload.finish()
        finally:
            await upload.aclose()
        absolute = self._absolute(target) + ("/" if target.endswith("/") else "")
        arguments = " ".join(map(shlex.quote, (inside, source, absolute, mode)))
        await self._must(f"bash -c {shlex.quote(_COPY)} copy {arguments}", name, f"copy {source!r} to {target!r}")

    # -- commands

    def _processes(self) -> Processes:
        if self._sandbox.work is None:
            raise BoxLost("the build's sandbox has ended")
        return Processes(self._sandbox, self._sandbox.work, self._tasks)

    def _asked(self, command: str) -> StartProcess:
        process = {"cmd": "/bin/bash", "args": ["-l", "-c", command], "envs": dict(self.place.env)}
        return checked(StartProcess, {"process": {**process, "cwd": self.place.workdir or None}, "stdin": False})

    async def command(self, command: str, *, log: bool = True) -> int:
        """Run one; its exit code. What it prints is logged."""
        _, received = await self._processes().start(self._asked(command), 0)
        lines = {"stdout": b"", "stderr": b""}
        async with received:
            async for header, body in received:
                kind = str(header.get("event"))
                if kind == "end":
                    for stream, left in lines.items():
                        self._tell(stream, [left] if left and log else [])
                    return number(header, "code") or number(header, "signal")
                *whole, last = (lines[kind] + body).split(b"\n")
                lines[kind] = last[-_SHOWN:]
                self._tell(kind, whole if log else [])
        raise BoxLost("the build's sandbox has ended")

    def _tell(self, kind: str, lines: list[bytes]) -> None:
        for line in lines:
            self._log("info" if kind == "stdout" else "error", line[:_SHOWN].decode("utf-8", "replace"))

    async def begin(self, command: str) -> None:
        """Start a command that goes on by itself."""
        _, received = await self._processes().start(self._asked(command), 0)
        received.close()

    async def start(self, command: str, ready: str) -> None:
        """Start what each sandbox of the template runs, and wait until `ready` ends with 0. Raises StepFailed."""
        _, received = await self._processes().start(self._asked(command), 0)
        ended: list[int] = []

        async def follow() -> None:
            with received:
                async for header, body in received:
                    if header.get("event") == "end":
                        ended.append(number(header, "code") or number(header, "signal"))
                    else:
                        self._tell(str(header.get("event")), body.splitlines())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            try:
                with anyio.fail_after(READY_S):
                    while (await self.command(ready, log=False)) != 0:
                        if any(ended):
                            break
                        await anyio.sleep(POLL_S)
            except TimeoutError:
                raise StepFailed(f"the start command was not ready within {READY_S:.0f} s", "finalize") from None
            finally:
                tasks.cancel_scope.cancel()
        if any(ended):
            raise StepFailed(f"the start command failed: exit status {ended[0]}", "finalize")
