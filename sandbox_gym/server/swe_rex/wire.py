"""What SWE-ReX's requests hold, and its errors: status 511 and the path of a class, which its client raises.

Knows no sandbox.
"""

from __future__ import annotations

import errno
import os
from typing import Annotated, Final, Literal

from fastapi import Response
from pydantic import BaseModel, Field

from sandbox_gym.errors import BoxLost, RequestError, SandboxGymError
from sandbox_gym.sandbox.session.client import FileProblem
from sandbox_gym.server.protocol.exchange import error_reply, reply

FAILED: Final = 511
_Shell = Annotated[str, Field(max_length=256)]
_Text = Annotated[str, Field(max_length=1000)]


class Raised(SandboxGymError):
    """Raised at the client as the class of this path, such as `builtins.FileNotFoundError`."""

    def __init__(self, path: str, message: str, **extra_info: str) -> None:
        super().__init__(message)
        self.path, self.extra_info = path, extra_info


class CreateSession(BaseModel):
    session: _Shell = "default"
    startup_source: list[_Text] = Field(default_factory=list, max_length=16)
    session_type: Literal["bash"] = "bash"
    startup_timeout: float = Field(1.0, ge=0)


class Action(BaseModel):
    """A command, or what is typed into the one that runs; or an interrupt, whose default timeout is another."""

    action_type: Literal["bash", "bash_interrupt"] = "bash"
    session: _Shell = "default"
    command: str = ""
    timeout: float | None = Field(None, ge=0)
    is_interactive_command: bool = False
    is_interactive_quit: bool = False
    check: Literal["silent", "raise", "ignore"] = "raise"
    error_msg: str = ""
    expect: list[_Text] = Field(default_factory=list, max_length=32)
    n_retry: int = Field(3, ge=1, le=20)


class CloseSession(BaseModel):
    session: _Shell = "default"


class Execute(BaseModel):
    command: str | list[str]
    timeout: float | None = Field(None, ge=0)
    shell: bool = False
    check: bool = False
    error_msg: str = ""
    env: dict[str, str] | None = None
    cwd: str | None = None
    merge_output_streams: bool = False


class ReadFile(BaseModel):
    path: str
    encoding: str | None = None
    errors: Literal["strict", "ignore", "replace", "backslashreplace", "surrogateescape"] | None = None


class WriteFile(BaseModel):
    content: str
    path: str


def swerex(kind: str, message: str) -> Raised:
    return Raised(f"swerex.exceptions.{kind}", message)


def os_error(code: str, what: str) -> Raised:
    number = getattr(errno, code, errno.EIO)
    kind = type(OSError(number, "")).__name__
    return Raised(f"builtins.{kind}", f"[Errno {number}] {os.strerror(number)}: {what}")


def failure(error: Exception) -> Response:
    """A failure in the sandbox is the protocol's exception; one of the server's is HTTP's, which its client repeats."""
    if isinstance(error, RequestError) and not isinstance(error, FileProblem):
        error = Raised("builtins.ValueError", str(error))
    if isinstance(error, FileProblem):
        error = os_error(error.code, error.problem)
    if isinstance(error, BoxLost):  # in the middle of the call, which is not to be repeated
        error = swerex("SwerexException", str(error))
    if not isinstance(error, Raised):
        return error_reply(error)
    told = {"message": str(error), "class_path": error.path, "traceback": "", "extra_info": error.extra_info}
    return reply({"swerexception": told}, FAILED)
