"""mini-swe-agent's environment on our sandboxes.

`environment_class: sandbox_gym.agents.mini_swe_agent.SandboxGymEnvironment` in its configuration is all it needs.

Each action is a command in a process of its own, as in mini-swe-agent's other environments; files stay.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Final

from anyio.from_thread import start_blocking_portal
from minisweagent.exceptions import Submitted
from minisweagent.utils.serialize import recursive_merge

from sandbox_gym.client import CompletedCommand, SandboxLost, Session, SessionTarget

SUBMIT_LINE: Final = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_MERGED: Final = 'exec 2>&1; cd -- "$0" 2>/dev/null || { mkdir -p -- "$0" && cd -- "$0"; } || exit 1; exec "$@"'
_RESTORED: Final = "[the sandbox was lost; files are as of its last snapshot]\n"
_LOST: Final = "the sandbox was lost during this command, which may not have run; files go back to the last snapshot"
_SYSTEM: Final = ("system", "node", "release", "version", "machine")


@dataclass(frozen=True, kw_only=True)
class SandboxGymEnvironmentConfig:
    """What the environment takes; the server's token comes from SANDBOX_GYM_TOKEN and is never written anywhere."""

    url: str = field(default_factory=lambda: SessionTarget().url)
    """A running server; SANDBOX_GYM_URL unless given."""
    cwd: str = "/workspace"
    """Made where it is not there."""
    env: dict[str, str] = field(default_factory=dict)
    forward_env: list[str] = field(default_factory=list)
    """Variables of this process that commands see, where it has them; `env` is over them."""
    timeout: float = 30
    """Seconds of one action."""
    interpreter: tuple[str, ...] = ("bash", "-c")
    row: dict[str, object] | None = None
    """The dataset's row to seed the session with, where the server wants one."""
    output_bytes: int = 4 << 20
    """The most of one action's output that comes back: its first half and its last."""


class SandboxGymEnvironment:
    """One session, closed by `cleanup`, with the object, or at the interpreter's end."""

    def __init__(
        self,
        *,
        config_class: Callable[..., SandboxGymEnvironmentConfig] = SandboxGymEnvironmentConfig,
        **kwargs: object,
    ) -> None:
        self.config = config_class(**kwargs)
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            target = SessionTarget(url=self.config.url, row=self.config.row)
            self._session = stack.enter_context(self._portal.wrap_async_context_manager(Session(target)))
            self._stack = stack.pop_all()
        self._finalizer = weakref.finalize(self, self._stack.close)
        self._system = self._asked()

    def execute(self, action: Mapping[str, str], cwd: str = "", *, timeout: float | None = None) -> dict[str, object]:
        """{output, returncode, exception_info}; a lost sandbox is told so, and the next command is in another one.

        Raises Submitted, and NoSandbox where there is no sandbox to go on in.
        """
        limit = timeout or self.config.timeout
        try:
            done = self._run(action.get("command", ""), cwd or self.config.cwd, limit)
        except SandboxLost:
            return _failed("", "SandboxLost", _LOST)
        text = (_RESTORED if done.state_lost else "") + done.stdout.decode("utf-8", "replace")
        if done.exit_code is None:
            return _failed(text, "TimeoutExpired", f"the command timed out after {limit:g} seconds and was ended")
        output: dict[str, object] = {"output": text, "returncode": done.exit_code, "exception_info": ""}
        _check_finished(text, done.exit_code)
        return output

    def _run(self, command: str, cwd: str, timeout_s: float) -> CompletedCommand:
        argv = ("bash", "-c", _MERGED, cwd, *self.config.interpreter, command)
        forwarded = {name: os.environ[name] for name in self.config.forward_env if name in os.environ}

        async def run() -> CompletedCommand:
            return await self._session.run(
                argv,
                cwd="/",
                timeout_s=timeout_s,
                env=forwarded | self.config.env,
                output_bytes=self.config.output_bytes,
            )

        return self._portal.call(run)

    def _asked(self) -> dict[str, str]:
        """What `platform.uname()` would say inside the sandbox."""
        command = "uname -s; uname -n; uname -r; uname -v; uname -m"
        try:
            done = self._run(command, "/", 30)
        except SandboxLost:  # before anything was done in it
            done = self._run(command, "/", 30)
        return dict(zip(_SYSTEM, done.stdout.decode("utf-8", "replace").splitlines(), strict=False))

    def get_template_vars(self, **kwargs: object) -> dict[str, object]:
        merged: dict[str, object] = recursive_merge(asdict(self.config), self._system, kwargs)
        return merged

    def serialize(self) -> dict[str, object]:
        kind = f"{type(self).__module__}.{type(self).__name__}"
        return {"info": {"config": {"environment": asdict(self.config), "environment_type": kind}}}

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


def _check_finished(text: str, exit_code: int) -> None:
    lines = text.lstrip().splitlines(keepends=True)
    if not lines or lines[0].strip() != SUBMIT_LINE or exit_code != 0:
        return
    submission = "".join(lines[1:])
    extra = {"exit_status": "Submitted", "submission": submission}
    raise Submitted({"role": "exit", "content": submission, "extra": extra})
