"""Records of paused sandboxes and of snapshots: one small file each, which outlives the server. Blocking."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from sandbox_gym.private import make_private, remove_unfinished, write_whole

_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a client chose of a sandbox, which holds for its life."""

    public_traffic: bool = True
    secure: bool = True
    """Whether cells need a token where other ports need none."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    auto_pause: bool = False
    auto_pause_memory: bool = True
    auto_resume: bool = False
    mask_host: str = ""
    """The Host header that programs at its ports see, with ${PORT} for the port; empty for the client's own."""
    https_ports: Sequence[int] = ()
    """Where programs speak HTTPS, to the proxy as to clients."""
    deny_out: Sequence[str] = ()
    """What its client asked to deny, for its client alone: `network` and `allow_out` say what holds."""
    timeout_s: int = 300
    """Its lifetime, and that after an automatic resume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxRecord(Wishes):
    """What is known of a sandbox besides its box. Times in seconds since the epoch."""

    sandbox_id: str
    tenant: str
    template: str
    """The name in the request."""
    template_id: str = ""
    """What the name stood for; empty for an image."""
    image: str
    token: str
    traffic_token: str
    public_traffic: bool  # a record without it is none
    started_at: float
    network: bool = False
    """Whether it has the machine's network."""
    allow_out: Sequence[str] | None = None
    """What it may reach through its egress proxy; None: it has no proxy."""
    workdir: str = ""
    """Where its processes begin; empty: at home."""
    user: str = ""
    """Whom a request stands for that names no user; empty: the usual one."""
    rooted: bool = False
    """Commands have run as its root, or as that of what it was made from: its files are to be trusted as its tenant."""
    snapshot_id: str = ""
    """The snapshot that a paused sandbox is resumed from."""


@dataclass(frozen=True, slots=True)
class Made:
    """How a template's build, or a snapshot, left its sandbox, for those that are made from it."""

    template_id: str = ""
    """Empty for a plain snapshot."""
    build_id: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    user: str = ""
    start_cmd: str = ""
    ready_cmd: str = ""
    recipe: str = ""
    """A digest of its base and steps, by which a later build finds it."""


@dataclass(frozen=True, slots=True)
class Image:
    """A snapshot that sandboxes can be made from."""

    snapshot_id: str
    tenant: str
    image: str
    sandbox_id: str
    created_at: float
    rooted: bool = False
    """As `SandboxRecord.rooted`."""
    names: Sequence[str] = ()
    """`name:tag` for each of its tags."""
    made: Made = Made()


class Records:
    """The records in `folder`, readable by its owner alone: they contain tokens. Ids are made by this server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        make_private(folder)
        remove_unfinished(folder)

    def write(self, record: SandboxRecord | Image) -> None:
        """Atomic."""
        write_whole(self._path(record), json.dumps(asdict(record)).encode())

    def remove(self, record: SandboxRecord | Image) -> None:
        self._path(record).unlink(missing_ok=True)

    def _path(self, record: SandboxRecord | Image) -> Path:
        if isinstance(record, SandboxRecord):
            return self._folder / f"sandbox-{record.sandbox_id}.json"
        return self._folder / f"snapshot-{record.snapshot_id}.json"

    def sandboxes(self) -> Iterator[SandboxRecord]:
        return self._read("sandbox-*.json", SandboxRecord)

    def images(self) -> Iterator[Image]:
        return self._read("snapshot-*.json", _image)

    def _read(self, names: str, kind: Callable[..., T]) -> Iterator[T]:
        """Those that can be read; the others are logged."""
        for path in self._folder.glob(names):
            try:
                yield kind(**json.loads(path.read_text()))
            except (ValueError, TypeError, OSError) as error:
                _log.warning("record_unreadable", path=str(path), why=str(error))


def _image(made: Mapping[str, object], **fields: object) -> Image:
    return Image(made=Made(**made), **fields)  # type: ignore[arg-type]
