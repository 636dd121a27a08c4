"""mini-swe-agent's environment on our sandboxes.

`environment_class: sandbox_gym.agents.mini_swe_agent.SandboxGymEnvironment` in its configuration is all it needs.

Each action is a command in a process of its own, as in mini-swe-agent's other environments; files stay.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Final

from anyio.from_thread import start_blocking_portal
from minisweagent.environments.local import LocalEnvironment
from minisweagent.utils.serialize import recursive_merge
from pydantic import BaseModel, ConfigDict, Field

from sandbox_gym.client import CompletedCommand, NoSandbox, RequestRefused, SandboxLost, Session, SessionTarget

_MERGED: Final = 'exec 2>&1; { [ -d "$0" ] || mkdir -p -- "$0"; } && cd -- "$0" || exit 1; unset OLDPWD; exec "$@"'
_RESTORED: Final = "[the sandbox was lost; files are as of its last snapshot]\n"
_LOST: Final = "the sandbox was lost during this command, which may not have run; files go back to the last snapshot"
_BEGINNING: Final = "/workspace"
_UNITS_S: Final = {"m": 60, "h": 3600, "d": 86400}
_SYSTEM: Final = ("system", "node", "release", "version", "machine")


class SandboxGymEnvironmentConfig(BaseModel):
    """What the environment takes; the server's token comes from SANDBOX_GYM_TOKEN and is never written anywhere.

    Options of mini-swe-agent's other environments, such as `image` and `run_args`, are kept for templates and
    trajectories and change nothing else; a warning names them.
    """

    model_config = ConfigDict(extra="allow")

    url: str = Field(default_factory=lambda: SessionTarget().url)
    """A running server; SANDBOX_GYM_URL unless given."""
    cwd: str = ""
    """Made where it is not there; empty for the folder that the sandbox begins in."""
    env: dict[str, str] = {}
    forward_env: list[str] = []
    """Variables of this process that commands see, where it has them; `env` is over them."""
    timeout: int | float = 30
    """Seconds of one action."""
    interpreter: list[str] = ["bash", "-c"]
    container_timeout: str = Field("", pattern=r"^(|infinity|\d+(\.\d+)?[smhd]?)$")
    """When the sandbox is closed, counted from its start, as `sleep` takes it; empty where the server decides."""
    row: dict[str, object] | None = None
    """The dataset's row to seed the session with, where the server wants one."""
    output_bytes: int = 4 << 20
    """The most of one action's output that comes back: its first half and its last."""


class SandboxGymEnvironment(LocalEnvironment):
    """One session, closed by `cleanup`, with the object, or at the interpreter's end."""

    def __init__(
        self,
        *,
        config_class: Callable[..., SandboxGymEnvironmentConfig] = SandboxGymEnvironmentConfig,
        logger: logging.Logger | None = None,
        **kwargs: object,
    ) -> None:
        self.config = config_class(**kwargs)
        self.logger = logger or logging.getLogger("minisweagent.environment")
        if self.config.model_extra:
            self.logger.warning("a sandbox of sandbox-gym does not use %s", ", ".join(self.config.model_extra))
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            target = SessionTarget(url=self.config.url, row=self.config.row)
            self._session = stack.enter_context(self._portal.wrap_async_context_manager(Session(target)))
            self._stack = stack.pop_all()
        self.container_id = self._session.session_id
        self._finalizer = weakref.finalize(self, self._stack.close)
        self._system = self._asked()
        if (wanted := self.config.container_timeout) not in ("", "infinity"):
            seconds = float(wanted.rstrip("smhd")) * _UNITS_S.get(wanted[-1], 1)
            timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), self._finalizer)
            timer.daemon = True
            self._stack.callback(timer.cancel)
            timer.start()

    def execute(self, action: Mapping[str, str], cwd: str = "", *, timeout: float | None = None) -> dict[str, object]:
        """{output, returncode, exception_info}; a lost sandbox is told so, and the next command is in another one.

        Raises Submitted, and NoSandbox where there is no sandbox to go on in.
        """
        command, limit = action.get("command", ""), timeout or self.config.timeout
        if not self._finalizer.alive:
            raise NoSandbox("the sandbox was closed, by `cleanup` or after its container_timeout")
        try:
            done = self._run([*self.config.interpreter, command], cwd, limit)
        except SandboxLost:
            return _failed("", "SandboxLost", _LOST)
        except RequestRefused as error:  # a command that no program can be given
            return _failed("", type(error).__name__, str(error))
        written = (done.stdout + done.stderr).decode("utf-8", "replace")  # stderr: why the command could not begin
        text = (_RESTORED if done.state_lost else "") + written.replace("\r\n", "\n").replace("\r", "\n")
        if done.exit_code is None:
            return _failed(text, "TimeoutExpired", str(subprocess.TimeoutExpired(command, limit)))
        output: dict[str, object] = {"output": text, "returncode": done.exit_code, "exception_info": ""}
        self._check_finished(output)
        return output

    def _run(self, argv: list[str], cwd: str, timeout_s: float) -> CompletedCommand:
        merged = ["bash", "-c", _MERGED, cwd or self.config.cwd or _BEGINNING, *argv]
        env = {name: os.environ[name] for name in self.config.forward_env if name in os.environ} | self.config.env
        most, run = self.config.output_bytes, self._session.run
        return self._portal.call(lambda: run(merged, cwd="/", timeout_s=timeout_s, env=env, output_bytes=most))

    def _asked(self) -> dict[str, str]:
        """What `platform.uname()` would say inside the sandbox."""
        command = ["sh", "-c", "uname -s; uname -n; uname -r; uname -v; uname -m"]
        try:
            done = self._run(command, "/", 30)
        except SandboxLost:  # before anything was done in it
            done = self._run(command, "/", 30)
        return dict(zip(_SYSTEM, done.stdout.decode("utf-8", "replace").splitlines(), strict=False))

    def get_template_vars(self, **kwargs: object) -> dict[str, object]:
        known = {"cwd": self.config.cwd or _BEGINNING}
        merged: dict[str, object] = recursive_merge(self.config.model_dump(), known, self._system, kwargs)
        return merged

    def cleanup(self) -> None:
        """Close the session. Idempotent."""
        self._finalizer()


def _failed(text: str, kind: str, problem: str) -> dict[str, object]:
    """As mini-swe-agent's other environments tell of a command that has no exit code."""
    return {
        "output": text,
        "returncode": -1,
        "exception_info": f"An error occurred while executing the command: {problem}",
        "extra": {"exception_type": kind, "exception": problem},
    }
