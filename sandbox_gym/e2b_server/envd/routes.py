"""What is reached inside a sandbox, as it is declared: envd's routes and methods, its files, the code interpreter's.

Requests name their sandbox by host (`<port>-<sandbox>.<domain>`) or by the routing headers that are declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeVar

from pydantic import BaseModel
from typing_extensions import TypedDict

from sandbox_gym.e2b_server.access import ENVD_PORT, ID_HEADER, INTERPRETER_PORT, PORT_HEADER
from sandbox_gym.e2b_server.control.routes import ALLOW, BODY, FAULTS
from sandbox_gym.e2b_server.control.shapes import MAX_PATH, ContextView, Execute, FaultBody, Gone, MakeContext
from sandbox_gym.e2b_server.envd.connect_rpc import Call
from sandbox_gym.e2b_server.envd.shapes import (
    AtPath,
    Changes,
    Empty,
    Entries,
    EntryReply,
    EnvdMetrics,
    FileMade,
    InputMessage,
    ListFolder,
    MoveEntry,
    NamedWatcher,
    Nothing,
    OneProcess,
    Processes,
    SendInput,
    SendSignal,
    StartProcess,
    UpdateProcess,
    WatcherMade,
    WatchFolder,
)
from sandbox_gym.server.openapi import Content, Operation, Parameter, Reply
from sandbox_gym.server.openapi.errors import RETRY_AFTER, Problem

FILESYSTEM: Final = "filesystem.Filesystem"
PROCESS: Final = "process.Process"
M = TypeVar("M", bound=BaseModel)
_STREAM: Final = "application/connect+json"


class ConnectError(TypedDict):
    """What went wrong, in the protocol's words."""

    code: str
    message: str


STAT: Final = Call("Stat", AtPath, EntryReply, "What an entry is.")
MAKE_DIR: Final = Call("MakeDir", AtPath, EntryReply, "Make a folder, and those above it.")
MOVE: Final = Call("Move", MoveEntry, EntryReply, "Rename an entry.")
LIST_DIR: Final = Call("ListDir", ListFolder, Entries, "What a folder holds.")
REMOVE: Final = Call("Remove", AtPath, Nothing, "Remove an entry with all that is in it.")
CREATE_WATCHER: Final = Call("CreateWatcher", WatchFolder, WatcherMade, "Watch a folder, to be asked later.")
WATCHER_EVENTS: Final = Call("GetWatcherEvents", NamedWatcher, Changes, "What happened since the last call.")
REMOVE_WATCHER: Final = Call("RemoveWatcher", NamedWatcher, Nothing, "End a watch.")
WATCH_DIR: Final = Call("WatchDir", WatchFolder, None, "Watch a folder, as a stream.", stream=True)
LIST_PROCESSES: Final = Call("List", Empty, Processes, "Processes that run.")
UPDATE: Final = Call("Update", UpdateProcess, Nothing, "Give a terminal another size.")
SEND_INPUT: Final = Call("SendInput", SendInput, Nothing, "Bytes for a process.")
SEND_SIGNAL: Final = Call("SendSignal", SendSignal, Nothing, "A signal for a process.")
CLOSE_STDIN: Final = Call("CloseStdin", OneProcess, Nothing, "End a process's input.")
START: Final = Call("Start", StartProcess, None, "Start a process and hear it, as a stream.", stream=True)
CONNECT_PROCESS: Final = Call("Connect", OneProcess, None, "Hear a process, as a stream.", stream=True)
STREAM_INPUT: Final = Call("StreamInput", InputMessage, None, "Bytes for a process, as a stream.", stream=True)


def _routed(port: int) -> tuple[Parameter, ...]:
    return (
        Parameter(ID_HEADER, "header", "The sandbox.", {"type": "string", "minLength": 1}, required=True),
        Parameter(PORT_HEADER, "header", "The port inside it.", {"type": "integer", "default": port}, required=True),
    )


_GONE: Final[Mapping[int, Reply]] = {502: Reply("It does not run, or went meanwhile.", (Content(Gone | FaultBody),))}
_ENVD: Final[Mapping[int, Reply]] = {
    **FAULTS,
    401: Reply("Without the sandbox's token, or for another user.", (Content(ConnectError | FaultBody | Problem),)),
    403: Reply(
        "Not for the sandbox's user, or from a page of another site.", (Content(ConnectError | FaultBody | Problem),)
    ),
    404: Reply("There is no such thing.", (Content(ConnectError | FaultBody),)),
    **_GONE,
}


def _errors(statuses: tuple[int, ...]) -> dict[int, Reply]:
    """The same as elsewhere, with Connect's bodies."""
    body = (Content(ConnectError | FaultBody | Problem),)
    return {
        status: Reply("In the protocol's words.", body, (RETRY_AFTER,) if status in (429, 503) else ())
        for status in statuses
    }


def _call(service: str, call: Call[M]) -> Operation:
    contents = (Content(None, _STREAM),) if call.stream else (Content(call.gives),)
    bodies = (Content(None, _STREAM),) if call.stream else (Content(call.takes),)
    note = " Frames of a flag byte, a big-endian u32 length and JSON; flag 2 ends the stream." if call.stream else ""
    return Operation(
        method="POST",
        path=f"/{service}/{call.name}",
        name=f"{service.partition('.')[0]}_{call.name}",
        summary=call.summary,
        description=f"Connect's JSON codec.{note}",
        tag=service,
        security=("access_token",),
        bodies=bodies,
        body_required=False,
        parameters=(*_routed(ENVD_PORT), *_CONNECT),
        replies={
            **_ENVD,
            **BODY,
            **_errors((400, 408, 409, 413, 415, 429, 501, 503, 504, 507)),
            405: Reply("Methods are asked with POST.", (Content(ConnectError),), (ALLOW,)),
            200: Reply("Events, or an error, as frames." if call.stream else "What it gives.", contents),
        },
    )


_CONNECT: Final = (
    Parameter(
        "connect-timeout-ms", "header", "Milliseconds that the client gives the call.",
        {"type": "integer", "minimum": 0, "maximum": 9_999_999_999},
    ),
    Parameter(
        "keepalive-ping-interval", "header", "Seconds between signs of life in a stream.",
        {"type": "integer", "minimum": 1, "maximum": 9999},
    ),
)  # fmt: skip
_FILE: Final = (
    Parameter("path", "query", "The file.", {"type": "string", "maxLength": MAX_PATH}),
    Parameter("username", "query", "The sandbox's own user, or nothing.", {"type": "string"}),
    Parameter("signature", "query", "Instead of the token.", {"type": "string"}),
    Parameter("signature_expiration", "query", "Until when, in seconds since the epoch.", {"type": "string"}),
)
_BYTES: Final = "application/octet-stream"


def _envd(
    name: str,
    method: Literal["GET", "POST"],
    path: str,
    summary: str,
    replies: Mapping[int, Reply],
    *,
    bodies: tuple[Content, ...] = (),
    parameters: tuple[Parameter, ...] = (),
    security: tuple[str, ...] = ("access_token",),
) -> Operation:
    return Operation(
        method=method, path=path, name=name, summary=summary, tag="envd", security=security, bodies=bodies,
        body_required=False, parameters=(*_routed(ENVD_PORT), *parameters),
        replies={
            **_ENVD, **(BODY if bodies else {}),
            405: Reply("The path has other methods.", (Content(ConnectError | FaultBody),), (ALLOW,)), **replies,
        },
    )  # fmt: skip


ENVD: Final = (
    _envd("envd_health", "GET", "/health", "The sandbox answers.", {204: Reply("It does.")}, security=()),
    _envd("envd_metrics", "GET", "/metrics", "What it uses now.", {200: Reply("This.", (Content(EnvdMetrics),))}),
    _envd("envd_envs", "GET", "/envs", "What every process of it starts with.",
          {200: Reply("Variables.", (Content(dict[str, str]),))}),
    _envd("read_file", "GET", "/files", "A file's bytes.",
          {200: Reply("It.", (Content(None, _BYTES),)), 409: Reply("It is something else.", (Content(FaultBody),))},
          parameters=_FILE),
    _envd("write_file", "POST", "/files", "Write files, whole: one as the body, or many as a form's.",
          {200: Reply("They are there.", (Content(list[FileMade]),)),
           409: Reply("Something else is there.", (Content(FaultBody),))},
          bodies=(Content(None, _BYTES), Content(None, "multipart/form-data")), parameters=_FILE),
    _call(FILESYSTEM, STAT),
    _call(FILESYSTEM, MAKE_DIR),
    _call(FILESYSTEM, MOVE),
    _call(FILESYSTEM, LIST_DIR),
    _call(FILESYSTEM, REMOVE),
    _call(FILESYSTEM, CREATE_WATCHER),
    _call(FILESYSTEM, WATCHER_EVENTS),
    _call(FILESYSTEM, REMOVE_WATCHER),
    _call(FILESYSTEM, WATCH_DIR),
    _call(PROCESS, LIST_PROCESSES),
    _call(PROCESS, UPDATE),
    _call(PROCESS, SEND_INPUT),
    _call(PROCESS, SEND_SIGNAL),
    _call(PROCESS, CLOSE_STDIN),
    _call(PROCESS, START),
    _call(PROCESS, CONNECT_PROCESS),
    _call(PROCESS, STREAM_INPUT),
)  # fmt: skip
"""All of envd's."""


def _interpreter(
    name: str,
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    summary: str,
    replies: Mapping[int, Reply],
    body: type[BaseModel] | None = None,
    security: tuple[str, ...] = ("traffic_token", "access_token"),
) -> Operation:
    place = Parameter("context_id", "path", "A context.", {"type": "string", "minLength": 1})
    return Operation(
        method=method, path=path, name=name, summary=summary, tag="code interpreter", security=security,
        bodies=() if body is None else (Content(body),), body_required=False,
        parameters=(*_routed(INTERPRETER_PORT), *((place,) if "{" in path else ())),
        replies={
            **FAULTS, **_GONE, **(BODY if body is not None else {}),
            404: Reply("There is no such context.", (Content(FaultBody),)), **replies,
        },
    )  # fmt: skip


_OK: Final = Reply("It does.", (Content(str),))
_CONTEXT: Final = Reply("It.", (Content(ContextView),))
INTERPRETER_HEALTH: Final = _interpreter(
    "interpreter_health", "GET", "/health", "The interpreter answers.", {200: _OK}, security=()
)
EXECUTE: Final = _interpreter(
    "execute", "POST", "/execute", "Run a cell.",
    {200: Reply("What it gives out, a JSON object a line.", (Content(None, "application/x-ndjson"),))}, Execute,
)  # fmt: skip
MAKE_CONTEXT: Final = _interpreter("make_context", "POST", "/contexts", "Open a context.", {200: _CONTEXT}, MakeContext)
CONTEXTS: Final = _interpreter(
    "list_contexts", "GET", "/contexts", "Contexts that are open.",
    {200: Reply("Them.", (Content(list[ContextView]),))},
)  # fmt: skip
DELETE_CONTEXT: Final = _interpreter(
    "delete_context", "DELETE", "/contexts/{context_id}", "End a context.", {204: Reply("Done.")}
)
RESTART_CONTEXT: Final = _interpreter(
    "restart_context", "POST", "/contexts/{context_id}/restart", "Begin a context anew.", {204: Reply("Done.")}
)
