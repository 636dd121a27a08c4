"""The steps of one template build, run in its sandbox as the user that they name, as far as the sandbox has it."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream

from sandbox_gym.e2b_server.builds.shapes import BuildStep
from sandbox_gym.e2b_server.control.shapes import checked
from sandbox_gym.e2b_server.envd.file_driver import Drivers
from sandbox_gym.e2b_server.envd.files import Upload
from sandbox_gym.e2b_server.envd.process import PATH, Processes
from sandbox_gym.e2b_server.envd.shapes import StartProcess
from sandbox_gym.e2b_server.sandboxes.processes import Event, number
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.envd import HOME, ROOT_HOME, ROOT_USER, USER

READY_S: Final = 300.0
"""For a start command to be ready."""
BEGIN_S: Final = 20.0
"""The same in a sandbox that is asked for, which is there with or without it."""
POLL_S: Final = 0.2
PIECE: Final = 1 << 20
MAX_ENVIRONMENT: Final = 128 * 1024
"""Characters of a template's variables, with those of the templates that it began from."""
_SHOWN: Final = 2000
_VARIABLE: Final = re.compile(r"\\(\$)|\$(?:(\w+)|\{(\w+)\})")
"""In a variable's value, as Docker and E2B expand it."""
_MAKE: Final = r"""
make() {  # a folder, with those above it that are missing, of the owner of another
  [ ! -d "$1" ] || return 0
  local top=$1
  while [ ! -e "$(dirname -- "$top")" ]; do top=$(dirname -- "$top"); done
  mkdir -p -- "$1" || return
  [ -z "$2" ] || chown -R --reference="$2" -- "$top"
}
"""
_COPY: Final = rf"""{_MAKE}
set -e
archive=$1 source=$2 target=$3 mode=$4 owner=$5
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked" "$archive"' EXIT
tar -xf "$archive" -C "$unpacked" --no-same-owner
[ -z "$owner" ] || chown -R -h --reference="$owner" -- "$unpacked"
cd "$unpacked"
shopt -s nullglob dotglob globstar
if [ -e "$source" ] || [ -L "$source" ]; then found=("$source") one=$source; else IFS= found=($source) one=; fi
[ ${{#found[@]}} -gt 0 ] || {{ echo "nothing matches $source" >&2; exit 1; }}
[ -z "$mode" ] || chmod -R "$mode" -- "${{found[@]}}"
if [ ${{#found[@]}} -eq 1 ] && [ -d "${{found[0]}}" ]; then
  make "$target" "$owner"; cp -a -- "${{found[0]}}/." "$target"
elif [ "$one" ] && [ ! -d "$target" ] && [ "${{target%/}}" = "$target" ]; then
  make "$(dirname -- "$target")" "$owner"; cp -a -- "$source" "$target"
else
  make "$target" "$owner"; cp -a -- "${{found[@]}}" "$target"
fi
"""
"""As Docker's COPY: a folder's content, a file under its new name or into a folder, or all that a pattern matches."""
_FOLDER: Final = f'{_MAKE}\nmake "$1" "$2"'
Files = Callable[[str], Path]
"""Where the tar of a hash is."""
Log = Callable[[str, str], None]
"""Called with a level and a line."""


def unheard(level: str, line: str) -> None:
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
    """Runs commands in one sandbox."""

    def __init__(
        self,
        sandbox: Sandbox,
        tasks: anyio.abc.TaskGroup,
        drivers: Drivers,
        place: Place,
        log: Log = unheard,
        files: Files = Path,
    ) -> None:
        self._sandbox, self._tasks, self._drivers, self._files = sandbox, tasks, drivers, files
        self.place, self._log = place, log

    async def run(self, step: BuildStep, name: str) -> None:
        """Raises StepFailed, BoxLost."""
        args = step.args
        if step.type == "ENV":
            self._set(dict(zip(args[::2], args[1::2], strict=False)), name)
        elif step.type == "USER":
            self.place.user = self._user(args[0] if args else "", name, "set user")
        elif step.type == "WORKDIR":
            folder = self._absolute(args[0] if args else "")
            by, owner = self._owning(folder, self.place.user)
            await self._must(_script(_FOLDER, folder, owner), by, name, f"set workdir {folder!r}")
            self.place.workdir = folder
        elif step.type == "RUN":
            command = args[0] if args else ""
            what = f"run command {command[:200]!r}"
            user = self._user(args[1], name, what) if len(args) > 1 and args[1] else self.place.user
            await self._must(command, user, name, what)
        else:
            await self._copy(step, name)

    def _set(self, variables: Mapping[str, str], name: str) -> None:
        known = {"HOME": ROOT_HOME if self.place.user == ROOT_USER else HOME, "PATH": PATH, **self.place.env}
        room = MAX_ENVIRONMENT

        def counted(text: str) -> str:
            nonlocal room
            room -= len(text)
            if room < 0:
                raise StepFailed(f"failed to set variables: together over {MAX_ENVIRONMENT} characters", name)
            return text

        def expanded(found: re.Match[str]) -> str:
            return counted(found[1] or known.get(found[2] or found[3], ""))

        if any(not one or "=" in one for one in variables):
            raise StepFailed("failed to set variables: a name is empty or has a '='", name)
        self.place.env |= {one: _VARIABLE.sub(expanded, text) for one, text in variables.items()}
        room = MAX_ENVIRONMENT
        for one, text in self.place.env.items():
            counted(one + text)

    def _user(self, user: str, name: str, what: str) -> str:
        """Whom a step that names a user runs as."""
        if user not in (USER, ROOT_USER):
            raise StepFailed(
                f"failed to {what}: command failed: unauthenticated: invalid username: {user[:40]!r}", name
            )
        if user == ROOT_USER and not self._sandbox.may_root:
            self._log("warn", f"there is no root in this sandbox: this runs as {USER!r}")
            return USER
        return user

    def _owning(self, path: str, user: str) -> tuple[str, str]:
        """(who makes what is to be a user's at a path, a folder of the user's, or empty where no owner is set): root
        wherever the user might not, so that a template that needs no root has none."""
        work, inside = self._sandbox.work, f"{path}/".startswith(f"{HOME}/")
        if not self._sandbox.may_root or (user == USER and inside and work is not None and work.root is None):
            return USER, ""
        return ROOT_USER, ROOT_HOME if user == ROOT_USER else HOME

    def _absolute(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(self.place.workdir or HOME, path))

    async def _must(self, command: str, user: str, name: str, what: str) -> None:
        code = await self.command(command, user)
        if code != 0:
            raise StepFailed(f"failed to {what}: exit status {code}", name)

    async def _copy(self, step: BuildStep, name: str) -> None:
        source, target, user, mode = (*step.args, "", "", "", "")[:4]
        if not source or not target or step.files_hash is None:
            raise StepFailed("COPY has a source, a target and its files' hash", name)
        user = user.removesuffix(":" + user.partition(":")[0])  # the user's own group
        user = self._user(user, name, f"copy {source!r}") if user else self.place.user
        absolute = self._absolute(target) + ("/" if target.endswith("/") else "")
        by, owner = self._owning(absolute, user)
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
        script = _script(_COPY, inside, source, absolute, mode, owner)
        await self._must(script, by, name, f"copy {source!r} to {target!r}")

    # -- commands

    async def _start(self, command: str, user: str) -> MemoryObjectReceiveStream[Event]:
        """Raises BoxLost, ProviderDown."""
        envd = await self._drivers(self._sandbox, user)
        if self._sandbox.work is None:
            raise BoxLost("the build's sandbox has ended")
        processes = Processes(self._sandbox, self._sandbox.work, self._tasks, envd, user)
        return (await processes.start(self._asked(command), 0))[1]

    def _asked(self, command: str) -> StartProcess:
        process = {"cmd": "/bin/bash", "args": ["-l", "-c", command], "envs": dict(self.place.env)}
        return checked(StartProcess, {"process": {**process, "cwd": self.place.workdir or None}, "stdin": False})

    async def command(self, command: str, user: str, *, log: bool = True) -> int:
        """Run one; its exit code. What it prints is logged."""
        return await self._follow(await self._start(command, user), log=log)

    async def _follow(self, received: MemoryObjectReceiveStream[Event], *, log: bool) -> int:
        """Raises BoxLost."""
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

    async def begin(self, command: str, ready: str) -> None:
        """Start a command that goes on by itself, and wait a while until `ready` ends with 0."""
        (await self._start(command, self.place.user)).close()
        with anyio.move_on_after(BEGIN_S if ready else 0):
            await self._ready(ready, [])

    async def _ready(self, ready: str, ended: Sequence[int]) -> None:
        """Wait until `ready` ends with 0, or the start command with another code, which is then in `ended`."""
        while await self.command(ready, self.place.user, log=False) != 0:
            if any(ended):
                return
            await anyio.sleep(POLL_S)

    async def start(self, command: str, ready: str) -> None:
        """Start what each sandbox of the template runs, and wait until `ready` ends with 0. Raises StepFailed."""
        received = await self._start(command, self.place.user)
        ended: list[int] = []

        async def follow() -> None:
            ended.append(await self._follow(received, log=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            try:
                with anyio.fail_after(READY_S):
                    await self._ready(ready, ended)
            except TimeoutError:
                raise StepFailed(f"the start command was not ready within {READY_S:.0f} s", "finalize") from None
            finally:
                tasks.cancel_scope.cancel()
        if any(ended):
            raise StepFailed(f"the start command failed: exit status {ended[0]}", "finalize")


def _script(source: str, *arguments: str) -> str:
    """A command that runs a script of bash's."""
    return f"bash -c {shlex.quote(source)} step {' '.join(map(shlex.quote, arguments))}"
