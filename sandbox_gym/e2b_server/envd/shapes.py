"""envd's messages in Connect's JSON: the models that check calls, the types that replies are made as."""

from __future__ import annotations

import binascii
from typing import Annotated, Final, Literal, NotRequired

from pydantic import AfterValidator, BeforeValidator, Field, StrictBool, StrictInt
from typing_extensions import TypedDict

from sandbox_gym.e2b_server.control.shapes import Asked, Path, Text, Variables
from sandbox_gym.e2b_server.sandboxes.processes import ProcessConfig

MAX_ARGS: Final = 1000
MAX_COMMAND: Final = 1 << 20


def _args(args: list[str]) -> list[str]:
    if any("\0" in one for one in args) or sum(map(len, args)) > MAX_COMMAND:
        raise ValueError(f"args must have no NUL and at most {MAX_COMMAND} characters")
    return args


def _base64(text: object) -> bytes:
    if not isinstance(text, str):
        raise ValueError("bytes are base64")
    return binascii.a2b_base64(text, strict_mode=True)


Bytes = Annotated[bytes, BeforeValidator(_base64), Field(json_schema_extra={"format": "byte"})]


class Empty(Asked):
    """Nothing."""


# -- filesystem


class AtPath(Asked):
    """An entry."""

    path: Path = ""


class MoveEntry(Asked):
    """Source and destination."""

    source: Path = ""
    destination: Path = ""


class ListFolder(AtPath):
    """A directory, and how deep to list it."""

    depth: Annotated[StrictInt, Field(ge=0, lt=1 << 32)] | None = Field(None, description="1 unless given.")


class WatchFolder(AtPath):
    """What to watch of a directory."""

    recursive: StrictBool | None = None
    include_entry: StrictBool | None = Field(None, alias="includeEntry")


class NamedWatcher(Asked):
    """A watcher."""

    watcher_id: Annotated[Text, Field(max_length=100)] = Field("", alias="watcherId")


class Entry(TypedDict):
    """An entry's metadata; `size` in bytes, as a string."""

    name: str
    path: str
    size: str
    mode: int
    permissions: str
    owner: str
    group: str
    modifiedTime: str
    type: NotRequired[str]
    isSymlink: NotRequired[bool]
    symlinkTarget: NotRequired[str]
    metadata: NotRequired[dict[str, str]]


class EntryReply(TypedDict):
    """One entry."""

    entry: Entry


class Entries(TypedDict):
    """The entries of a directory."""

    entries: list[Entry]


class Change(TypedDict):
    """One event of a watch."""

    name: str
    type: str
    entry: NotRequired[Entry]


class Changes(TypedDict):
    """Events since the last call."""

    events: list[Change]


class WatcherMade(TypedDict):
    """The watcher."""

    watcherId: str


class Nothing(TypedDict):
    """Done."""


class FileMade(TypedDict):
    """A file that was written."""

    name: str
    path: str
    type: Literal["file"]
    metadata: NotRequired[dict[str, str]]


# -- processes


class Selector(Asked):
    """A process by its pid or its tag."""

    pid: StrictInt | None = None
    tag: str | None = None


class TerminalSize(Asked):
    """In characters."""

    rows: Annotated[StrictInt, Field(ge=0, le=65535)] = 24
    cols: Annotated[StrictInt, Field(ge=0, le=65535)] = 80


class Terminal(Asked):
    """A terminal."""

    size: TerminalSize


class Command(Asked):
    """What to start."""

    cmd: Annotated[Text, Field(min_length=1, max_length=4096)]
    args: Annotated[list[str], Field(max_length=MAX_ARGS), AfterValidator(_args)] | None = None
    envs: Variables | None = None
    cwd: Annotated[Text, Field(max_length=4096)] | None = None


class StartProcess(Asked):
    """What to start and how."""

    process: Command
    pty: Terminal | None = None
    tag: Annotated[Text, Field(max_length=256)] | None = None
    stdin: bool | None = None


class OneProcess(Asked):
    """Which process."""

    process: Selector


class UpdateProcess(OneProcess):
    """A terminal's new size."""

    pty: Terminal | None = None


class Input(Asked):
    """Input of a pipe or of a terminal."""

    stdin: Bytes | None = None
    pty: Bytes | None = None


class InputData(Asked):
    """Bytes."""

    input: Input


class SendInput(OneProcess, InputData):
    """Input for a process."""


class InputEvent(Asked):
    """First `start`, which names the process, then `data`."""

    start: OneProcess | None = None
    data: InputData | None = None
    keepalive: object = None


class InputMessage(InputEvent):
    """One message of a stream of input; some clients leave `event` out."""

    event: InputEvent | None = None


class SendSignal(OneProcess):
    """SIGTERM or SIGKILL."""

    # by name or by number; client generators can't express one enum of both
    signal: Literal["SIGNAL_SIGTERM", "SIGNAL_SIGKILL"] | Literal[15, 9]


class ProcessView(TypedDict):
    """A running process."""

    pid: int
    config: ProcessConfig
    tag: NotRequired[str]


class Processes(TypedDict):
    """All running processes."""

    processes: list[ProcessView]


class EnvdMetrics(TypedDict):
    """What the sandbox uses now; in bytes and in percent of one CPU."""

    ts: int
    cpu_count: int
    cpu_used_pct: float
    mem_total: int
    mem_used: int
    disk_used: int
    disk_total: int
