"""SandboxFusion's wire: /run_code and /submit with its fields and its words, over our sandboxes.

A run's own end is HTTP 200, as there; what is our fault is 504, which its clients try again, never a run that failed.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final, Literal

from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict

from sandbox_gym.contract import Outcome, State, Status
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, ToolchainMissing, Unavailable
from sandbox_gym.limits import MIB, Limits, mebibytes
from sandbox_gym.plans.runner import Caller
from sandbox_gym.plans.starvation import judged_by
from sandbox_gym.server.coding.braces import C_FAMILY
from sandbox_gym.server.protocol.exchange import ToolFailed
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.tools.shapes import Nothing, tool_method
from sandbox_gym.verifiers.coding import (
    JAVA_WITH_TUPLES,
    STARTER,
    Language,
    known_language,
    literally,
    program_outcome,
    program_plan,
    told_apart,
)

OWN_FIELDS: Final = frozenset({"compile_timeout", "run_timeout", "memory_limit_MB", "files", "fetch_files"})
DEFAULT_S: Final = 10.0
WALL_GRACE_S: Final = 1.0
"""Wall seconds beyond `run_timeout`. A run that they end on a busy machine is tried again."""
ANSWER_GRACE_S: Final = 8.0
"""Its best-known client sends one timeout as both, and waits for both and ten seconds: time for that second try."""
ONE_STEP: Final = frozenset({"csharp", "typescript", "go_test"})
"""Languages that one command compiles and runs there."""
_FURTHER: Final = re.compile(
    r"\borg\.javatuples\b|\bgithub\.com/stretchr/testify/|\b(?:require\(|from )\s*['\"]lodash\b"
    r"|#\s{0,9}include\s{0,9}[<\"](?P<c>openssl|gtest|gmock|boost)/"
)
"""Libraries that programs find there, and here in the larger image."""
_GOOGLE_TEST: Final = ("-lgmock_main", "-lgmock", "-lgtest")
_LINKED: Final = {"openssl": ("-lcrypto", "-lssl"), "gtest": _GOOGLE_TEST, "gmock": _GOOGLE_TEST}
"""What a C or C++ program is linked with, by what it includes; a `main` of Google Test's is taken where it has none."""
MAX_FILES: Final = 1000
MAX_FILE_BYTES: Final = 64 * MIB
_OVER_TIME: Final = (Status.CPU_TIME_LIMIT, Status.WALL_TIME_LIMIT)
_ENDS: Final = {Status.MEMORY_LIMIT: "out of memory", Status.OUTPUT_LIMIT: "too much output"}


class Timeouts(BaseModel):
    """What every request may say of its time."""

    compile_timeout: float = Field(DEFAULT_S, gt=0)
    run_timeout: float = Field(DEFAULT_S, gt=0)

    @field_validator("compile_timeout", "run_timeout", mode="before")
    @classmethod
    def _unset(cls, value: object) -> object:
        return DEFAULT_S if value is None else value

    def caller(self, caller: Caller) -> Caller:
        """The caller, and until when its client waits."""
        if caller.deadline_s is not None:
            return caller
        longest_s = max(self.compile_timeout, self.run_timeout)
        return replace(caller, deadline_s=longest_s + self.run_timeout + ANSWER_GRACE_S)


def without_unset(value: object) -> object:
    """Null, as its SDK sends what is not set, is the default."""
    return {name: held for name, held in value.items() if held is not None} if isinstance(value, dict) else value or {}


class FusionRunCode(Timeouts):
    """SandboxFusion's RunCodeRequest; files in base64. Known by a field that only it has."""

    code: str
    language: str
    stdin: str | None = None
    memory_limit_MB: float = -1
    files: dict[str, str | None] = Field(default_factory=dict)
    fetch_files: list[str] = Field(default_factory=list)
    args: list[str] = Field(default_factory=list, description="Further arguments of pytest.")

    @field_validator("args")
    @classmethod
    def _passable(cls, args: list[str]) -> list[str]:
        if any("\0" in one or one.encode("utf-8", "replace").decode() != one for one in args):
            raise ValueError("an argument holds NUL or a lone surrogate")
        return args


class CommandRun(TypedDict):
    """SandboxFusion's CommandRunResult."""

    status: Literal["Finished", "TimeLimitExceeded"]
    execution_time: float
    cpu_time: float
    return_code: int | None
    stdout: str
    stderr: str


class FusionRan(TypedDict):
    """SandboxFusion's RunCodeResponse."""

    status: Literal["Success", "Failed", "SandboxError"]
    message: str
    compile_result: CommandRun | None
    run_result: CommandRun | None
    executor_pod_name: None
    files: dict[str, str]


class FusionFailed(TypedDict):
    """No run, for a reason of the server's own."""

    status: Literal["SandboxError"]
    message: str


@dataclass(frozen=True, slots=True)
class Ran:
    """One run in SandboxFusion's words."""

    status: Literal["Success", "Failed"]
    compile_result: CommandRun | None
    run_result: CommandRun | None

    def in_one_step(self) -> Ran:
        """The same where a compiler's run is the program's own."""
        return Ran(self.status, None, self.run_result or self.compile_result)

    def document(self, files: Mapping[str, bytes]) -> FusionRan:
        """RunCodeResponse."""
        return {
            "status": self.status,
            "message": "",
            "compile_result": self.compile_result,
            "run_result": self.run_result,
            "executor_pod_name": None,
            "files": encoded_files(files),
        }


def as_there(language: Language, code: str, args: Sequence[str]) -> Language:
    """The language as SandboxFusion runs it: assertions are a run's test, and some libraries are at hand."""
    if language.name == "pytest":
        return replace(language, run=(*language.run, *map(literally, args)))
    there = language.asserting or language
    if found := {one["c"] for one in _FURTHER.finditer(code)}:
        linked = [option for name in found if language.name in C_FAMILY for option in _LINKED.get(name, ())]
        larger = replace(there, image="polyglot-more", compile=(*there.compile, *linked))
        return JAVA_WITH_TUPLES if language.name == "java" else larger
    return there


def encoded_files(files: Mapping[str, bytes]) -> dict[str, str]:
    """Files in base64, as the wire has them."""
    return {path: base64.b64encode(content).decode() for path, content in files.items()}


def is_fusion(body: Document) -> bool:
    """Whether a body of /run_code is SandboxFusion's: it has a field that only that has."""
    return not OWN_FIELDS.isdisjoint(body)


def to_fetch(given: Sequence[str]) -> dict[str, str]:
    """The paths of files that are asked for, plainly spelled, by their names in the request. Raises RequestError."""
    return {path: safe_path(path, f"fetch_files[{index}]") for index, path in enumerate(given)}


def fetched(stdout: bytes, mark: str, asked: Mapping[str, str]) -> tuple[bytes, dict[str, bytes]]:
    """What a program printed, and the files that were asked for, under their names in the request."""
    stdout, files = told_apart(stdout, mark, list(asked.values()))
    return stdout, {given: files[path] for given, path in asked.items() if path in files}


class FusionTools:
    """The tools, under the server's caps; a request may only tighten them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    @tool_method(Nothing, str)
    async def ping(self, engine: Engine, call: ToolCall, wanted: Nothing) -> str:
        """Say that the server is there, in JSON."""
        return '"pong"'

    @tool_method(FusionRunCode, FusionRan)
    async def run_code(self, engine: Engine, call: ToolCall, wanted: FusionRunCode) -> FusionRan:
        """Run a program, as SandboxFusion does: its time is wall time, and its runtime's start is part of it."""
        return await self._run(engine, call, wanted, by_wall_time=True)

    @tool_method(FusionRunCode, FusionRan)
    async def run_test(self, engine: Engine, call: ToolCall, wanted: FusionRunCode) -> FusionRan:
        """The same for what is judged, in the time that its language has in rows, too."""
        return await self._run(engine, call, wanted)

    @tool_method(FusionRunCode, FusionRan)
    async def run_anew(self, engine: Engine, call: ToolCall, wanted: FusionRunCode) -> FusionRan:
        """The same as `run_test`, compiled for this run: how old its program is says nothing about it."""
        return await self._run(engine, call, wanted, anew=True)

    async def _run(
        self,
        engine: Engine,
        call: ToolCall,
        wanted: FusionRunCode,
        *,
        anew: bool = False,
        by_wall_time: bool = False,
    ) -> FusionRan:
        language = as_there(known_language(wanted.language, "language"), wanted.code, wanted.args)
        fetch = to_fetch(wanted.fetch_files)
        mark = f"\n-- {secrets.token_hex(16)} --\n"
        plan = program_plan(
            language,
            wanted.code.removeprefix("\ufeff").encode("utf-8", "replace").decode(),
            (wanted.stdin or "").encode("utf-8", "replace").decode(),
            tightened(self._limits, wanted, wanted.memory_limit_MB),
            files=decoded(wanted.files, {language.source_of(wanted.code), STARTER} | language.own_files),
            fetch=list(fetch.values()),
            mark=mark,
            compile_time_s=wanted.compile_timeout,
            wall_time_s=wanted.run_timeout + WALL_GRACE_S if by_wall_time else None,
            anew=anew,
        )
        try:
            state = await engine.run(plan, caller=wanted.caller(call.caller))
            outcome, compiled = program_outcome(language, state)
        except Unavailable as error:
            raise sandbox_error(error) from error
        if by_wall_time and compiled:
            outcome = judged_by(outcome, replace(self._limits, wall_time_s=wanted.run_timeout))
        stdout, files = fetched(outcome.stdout, mark, fetch)
        done = ran(state, replace(outcome, stdout=stdout), compiled=compiled)
        return (done.in_one_step() if language.name in ONE_STEP else done).document(files)


def ran(state: State, outcome: Outcome, *, compiled: bool) -> Ran:
    """What a run did, and its compiler before it where there is one."""
    built = state.builds[0] if state.builds else None
    compile_result: CommandRun | None = None
    if built is not None:  # what a compiler printed last is the program, and not for reading
        compile_result = command_result(replace(built, stdout=b""))
    elif not compiled:
        compile_result = command_result(replace(outcome, stdout=b""))
    if not compiled:
        return Ran("Failed", compile_result, None)
    succeeded = outcome.status is Status.OK
    return Ran("Success" if succeeded else "Failed", compile_result, command_result(outcome))


def command_result(outcome: Outcome) -> CommandRun:
    """CommandRunResult. `Error` is that wire's word for its own fault, so a program's is `Finished` with a code."""
    over_time = outcome.status in _OVER_TIME
    code = outcome.exit_code if outcome.signal is None else -outcome.signal
    stderr = outcome.stderr.decode("utf-8", "replace")
    if outcome.status in _ENDS:
        code, stderr = code or -9, f"{stderr}\n[sandbox: killed, {_ENDS[outcome.status]}]\n"
    elif outcome.status is not Status.OK:
        code = code or 1
    return {
        "status": "TimeLimitExceeded" if over_time else "Finished",
        "execution_time": outcome.wall_time_s,
        "cpu_time": outcome.cpu_time_s,
        "return_code": None if over_time else code,
        "stdout": outcome.stdout.decode("utf-8", "replace"),
        "stderr": stderr,
    }


def sandbox_error(error: Unavailable) -> ToolFailed:
    """No run: 504, which clients of this wire try again; 503 where another try would find the same."""
    status = 503 if isinstance(error, ToolchainMissing) else 504
    document: FusionRan = {
        "status": "SandboxError",
        "message": str(error) or error.failure_kind,
        "compile_result": None,
        "run_result": None,
        "executor_pod_name": None,
        "files": {},
    }
    return ToolFailed(document, status, error.retry_after_s)


def tightened(limits: Limits, wanted: Timeouts, memory_mb: float = -1) -> Limits:
    """The server's caps, lowered to what the request asks for."""
    memory_bytes = mebibytes(memory_mb) if memory_mb > 0 else None
    if memory_bytes is not None and memory_bytes < 16 * MIB:
        raise RequestError("memory_limit_MB", f"is {memory_mb:g}", "give at least 16, or -1 for the server's own")
    wall_time_s = wanted.run_timeout + WALL_GRACE_S
    return limits.tightened(cpu_time_s=wanted.run_timeout, wall_time_s=wall_time_s, memory_bytes=memory_bytes)


def safe_path(path: str, field: str) -> str:
    """The path, plainly spelled: below the working folder, or absolute in the box. Raises RequestError."""
    root, parts = (
        ("/", PurePosixPath(path.lstrip("/")).parts) if path.startswith("/") else ("", PurePosixPath(path).parts)
    )
    plain = root + "/".join(parts)
    too_long = len(plain) > 1000 or any(len(part.encode("utf-8", "replace")) > 255 for part in parts)
    if not parts or ".." in parts or not plain.isprintable() or too_long:
        raise RequestError(field, f"is {path[:80]!r}", "give a path below the working folder, or an absolute one")
    return plain


def decoded(files: Mapping[str, str | None], taken: set[str]) -> dict[str, bytes]:
    """Paths and contents, none of them in another's way or in that of the program. Raises RequestError."""
    if len(files) > MAX_FILES:
        raise RequestError("files", f"has {len(files)} files", f"send at most {MAX_FILES}")
    found: dict[str, bytes] = {}
    for given, content in files.items():
        if content is None:
            continue  # no file there either
        field = f"files[{given[:80]!r}]"
        path = safe_path(given, field)
        if path in found or path in taken:
            raise RequestError(field, "is there already", "send each file once, and none in the program's place")
        try:
            found[path] = base64.b64decode(content, validate=True)
        except (binascii.Error, ValueError):
            raise RequestError(field, "is not base64", "encode each file's content in base64") from None
    folders = {str(parent) for path in found for parent in PurePosixPath(path).parents} - {".", "/"}
    in_the_way = folders & {*found, *taken}
    if in_the_way:
        raise RequestError("files", f"has {min(in_the_way)[:80]!r} as a file and as a folder", "rename one")
    if sum(map(len, found.values())) > MAX_FILE_BYTES:
        raise RequestError("files", "is too much", f"send at most {MAX_FILE_BYTES} bytes")
    return found
