"""Declarations of what is served for one sandbox: envd's methods, its files, and the code interpreter's routes.

Requests name their sandbox by host (`<port>-<sandbox>.<domain>`) or by the routing headers that are declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel
from typing_extensions import TypedDict

from sandbox_gym.e2b_server.access import ENVD_PORT, ID_HEADER, INTERPRETER_PORT, PORT_HEADER
from sandbox_gym.e2b_server.control.routes import ALLOW, BODY, FAULTS
from sandbox_gym.e2b_server.control.shapes import MAX_PATH, ContextView, Execute, FaultBody, Gone, MakeContext
from sandbox_gym.e2b_server.envd import shapes
from sandbox_gym.e2b_server.envd.connect_rpc import Call
from sandbox_gym.server.openapi import Content, Operation, Parameter, Reply
from sandbox_gym.server.openapi.errors import RETRY_AFTER, Problem

FILESYSTEM: Final = "filesystem.Filesystem"
PROCESS: Final = "process.Process"
_STREAM: Final = "application/connect+json"


class ConnectError(TypedDict):
    """An error in the Connect protocol's form."""

    code: str
    message: str


STAT: Final = Call("Stat", shapes.AtPath, shapes.EntryReply, "Get an entry's metadata.")
MAKE_DIR: Final = Call("MakeDir", shapes.AtPath, shapes.EntryReply, "Make a directory and its parents.")
MOVE: Final = Call("Move", shapes.MoveEntry, shapes.EntryReply, "Rename an entry.")
LIST_DIR: Final = Call("ListDir", shapes.ListFolder, shapes.Entries, "List a directory.")
REMOVE: Final = Call("Remove", shapes.AtPath, shapes.Nothing, "Remove an entry and everything in it.")
CREATE_WATCHER: Final = Call(
    "CreateWatcher",
    shapes.WatchFolder,
    shapes.WatcherMade,
    "Create a watcher of a directory, whose events are fetched later.",
)
WATCHER_EVENTS: Final = Call(
    "GetWatcherEvents", shapes.NamedWatcher, shapes.Changes, "Get a watcher's events since the last call."
)
REMOVE_WATCHER: Final = Call("RemoveWatcher", shapes.NamedWatcher, shapes.Nothing, "End a watch.")
WATCH_DIR: Final = Call("WatchDir", shapes.WatchFolder, None, "Watch a directory as a stream of events.", stream=True)
LIST_PROCESSES: Final = Call("List", shapes.Empty, shapes.Processes, "Processes that run.")
UPDATE: Final = Call("Update", shapes.UpdateProcess, shapes.Nothing, "Resize a terminal.")
SEND_INPUT: Final = Call("SendInput", shapes.SendInput, shapes.Nothing, "Send input to a process.")
SEND_SIGNAL: Final = Call("SendSignal", shapes.SendSignal, shapes.Nothing, "Send a signal to a process.")
CLOSE_STDIN: Final = Call("CloseStdin", shapes.OneProcess, shapes.Nothing, "Close a process's standard input.")
START: Final = Call("Start", shapes.StartProcess, None, "Start a process and stream its events.", stream=True)
CONNECT_PROCESS: Final = Call(
    "Connect", shapes.OneProcess, None, "Connect to a process and stream its events.", stream=True
)
STREAM_INPUT: Final = Call("StreamInput", shapes.InputMessage, None, "Stream input to a process.", stream=True)


def _routed(port: int) -> tuple[Parameter, ...]:
    return (
        Parameter(ID_HEADER, "header", "The sandbox.", {"type": "string", "minLength": 1}, required=True),
        Parameter(
            PORT_HEADER, "header", "The port inside the sandbox.", {"type": "integer", "default": port}, required=True
        ),
    )


_GONE: Final[Mapping[int, Reply]] = {
    502: Reply("The sandbox does not run, or was lost during the request.", (Content(Gone | FaultBody),))
}
_ENVD: Final[Mapping[int, Reply]] = {
    **FAULTS,
    401: Reply(
        "The sandbox's token is missing, or the user is another.", (Content(ConnectError | FaultBody | Problem),)
    ),
    403: Reply(
        "Not permitted for the sandbox's user, or sent from a page of another site.",
        (Content(ConnectError | FaultBody | Problem),),
    ),
    404: Reply("Not found.", (Content(ConnectError | FaultBody),)),
    **_GONE,
}


def _errors(statuses: tuple[int, ...]) -> dict[int, Reply]:
    """The common errors with the Connect protocol's bodies."""
    body = (Content(ConnectError | FaultBody | Problem),)
    return {
        status: Reply("An error in the Connect protocol's form.", body, (RETRY_AFTER,) if status in (429, 503) else ())
        for status in statuses
    }


def _call(service: str, call: Call[Any]) -> Operation:
    contents = (Content(None, _STREAM),) if call.stream else (Content(call.gives),)
    note = " Frames of a flag byte, a big-endian u32 length and JSON; flag 2 ends the stream." if call.stream else ""
    said = "Events as frames, then success or an error." if call.stream else "The method's result."
    return _envd(
        f"{service.partition('.')[0]}_{call.name}", "POST", f"/{service}/{call.name}", call.summary,
        {
            **_errors((400, 408, 409, 413, 415, 429, 501, 503, 504, 507)),
            405: Reply("Methods are called with POST.", (Content(ConnectError),), (ALLOW,)),
            200: Reply(said, contents),
        },
        bodies=(Content(None, _STREAM),) if call.stream else (Content(call.takes),),
        parameters=_CONNECT, tag=service, description=f"Connect's JSON codec.{note}",
    )  # fmt: skip


_CONNECT: Final = (
    Parameter(
        "connect-timeout-ms", "header", "The call's timeout in milliseconds.",
        {"type": "integer", "minimum": 0, "maximum": 9_999_999_999},
    ),
    Parameter(
        "keepalive-ping-interval", "header", "Seconds between keep-alive messages in a stream.",
        {"type": "integer", "minimum": 1, "maximum": 9999},
    ),
)  # fmt: skip
_FILE: Final = (
    Parameter("path", "query", "The file.", {"type": "string", "maxLength": MAX_PATH}),
    Parameter("username", "query", "The sandbox's user, or empty.", {"type": "string"}),
    Parameter("signature", "query", "A signature, instead of the token.", {"type": "string"}),
    Parameter(
        "signature_expiration", "query", "When the signature expires, in seconds since the epoch.", {"type": "string"}
    ),
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
    tag: str = "envd",
    description: str = "",
) -> Operation:
    return Operation(
        method=method, path=path, name=name, summary=summary, description=description, tag=tag, security=security,
        bodies=bodies, body_required=False, parameters=(*_routed(ENVD_PORT), *parameters),
        replies={
            **_ENVD, **(BODY if bodies else {}),
            405: Reply("The path has other methods.", (Content(ConnectError | FaultBody),), (ALLOW,)), **replies,
        },
    )  # fmt: skip


ENVD: Final = (
    _envd("envd_health", "GET", "/health", "Check a sandbox's health.",
          {204: Reply("The sandbox is healthy.")}, security=()),
    _envd("envd_metrics", "GET", "/metrics", "Get the sandbox's use of CPU, memory and disk.",
          {200: Reply("Its use.", (Content(shapes.EnvdMetrics),))}),
    _envd("envd_envs", "GET", "/envs", "Get the environment variables that every process starts with.",
          {200: Reply("Variables.", (Content(dict[str, str]),))}),
    _envd("read_file", "GET", "/files", "Read a file.",
          {200: Reply("The file's bytes.", (Content(None, _BYTES),)),
           206: Reply("The bytes that `Range` asks for.", (Content(None, _BYTES),)),
           416: Reply("The file has not the bytes that `Range` asks for.", (Content(FaultBody),)),
           409: Reply("The path is not a file.", (Content(FaultBody),))},
          parameters=_FILE),
    _envd("write_file", "POST", "/files", "Write whole files: one as the body, or several as a form.",
          {200: Reply("The files were written.", (Content(list[shapes.FileMade]),)),
           409: Reply("The path is not a file.", (Content(FaultBody),))},
          bodies=(Content(None, _BYTES), Content(None, "multipart/form-data")), parameters=_FILE),
    *(_call(FILESYSTEM, one) for one in (
        STAT, MAKE_DIR, MOVE, LIST_DIR, REMOVE, CREATE_WATCHER, WATCHER_EVENTS, REMOVE_WATCHER, WATCH_DIR
    )),
    *(_call(PROCESS, one) for one in (
        LIST_PROCESSES, UPDATE, SEND_INPUT, SEND_SIGNAL, CLOSE_STDIN, START, CONNECT_PROCESS, STREAM_INPUT
    )),
)  # fmt: skip
"""All operations of envd."""


def _interpreter(
    name: str,
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    summary: str,
    replies: Mapping[int, Reply],
    body: type[BaseModel] | None = None,
    security: tuple[str, ...] = ("traffic_token", "access_token"),
) -> Operation:
    parameter = Parameter("context_id", "path", "A context.", {"type": "string", "minLength": 1})
    return Operation(
        method=method, path=path, name=name, summary=summary, tag="code interpreter", security=security,
        bodies=() if body is None else (Content(body),), body_required=False,
        parameters=(*_routed(INTERPRETER_PORT), *((parameter,) if "{" in path else ())),
        replies={
            **FAULTS, **_GONE, **(BODY if body is not None else {}),
            404: Reply("The context does not exist.", (Content(FaultBody),)), **replies,
        },
    )  # fmt: skip


_OK: Final = Reply("The code interpreter is healthy.", (Content(str),))
_CONTEXT: Final = Reply("The context.", (Content(ContextView),))
INTERPRETER_HEALTH: Final = _interpreter(
    "interpreter_health", "GET", "/health", "The interpreter answers.", {200: _OK}, security=()
)
EXECUTE: Final = _interpreter(
    "execute", "POST", "/execute", "Run a cell.",
    {200: Reply("The cell's output, one JSON object per line.", (Content(None, "application/x-ndjson"),))}, Execute,
)  # fmt: skip
MAKE_CONTEXT: Final = _interpreter("make_context", "POST", "/contexts", "Open a context.", {200: _CONTEXT}, MakeContext)
CONTEXTS: Final = _interpreter(
    "list_contexts", "GET", "/contexts", "List open contexts.",
    {200: Reply("All contexts.", (Content(list[ContextView]),))},
)  # fmt: skip
DELETE_CONTEXT: Final = _interpreter(
    "delete_context", "DELETE", "/contexts/{context_id}", "Delete a context.", {204: Reply("Done.")}
)
RESTART_CONTEXT: Final = _interpreter(
    "restart_context", "POST", "/contexts/{context_id}/restart", "Restart a context.", {204: Reply("Done.")}
)
INTERPRETER: Final = (INTERPRETER_HEALTH, EXECUTE, MAKE_CONTEXT, CONTEXTS, DELETE_CONTEXT, RESTART_CONTEXT)
"""All operations of the code interpreter."""
