"""Requests and responses of template builds, as the SDK sends and reads them."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from sandbox_gym.e2b_server.control.shapes import Asked, Path, Text, Whole

MAX_STEPS: Final = 500
MAX_LOGS: Final = 100
"""Log entries of one reply."""
_Argument = Annotated[Text, Field(max_length=64 * 1024)]
_Name = Annotated[Text, Field(max_length=128)]


class RequestBuild(Asked):
    """A template's name, as `name` or `name:tag`, and further tags. Sizes are the pool's own."""

    name: _Name | None = None
    alias: _Name | None = None
    tags: Annotated[list[_Name], Field(max_length=50)] | None = None
    cpu_count: Whole | None = Field(None, alias="cpuCount", ge=1)
    memory_mb: Whole | None = Field(None, alias="memoryMB", ge=128)


class BuildStep(Asked):
    """One instruction. Of COPY: source, target, user, mode; of RUN: command, user; of ENV: names and values."""

    type: Literal["COPY", "ENV", "RUN", "WORKDIR", "USER"]
    args: Annotated[list[_Argument], Field(max_length=2000)] = Field(default_factory=list)
    files_hash: Text | None = Field(None, alias="filesHash")
    force: bool | None = None


class StartBuild(Asked):
    """From which image or template, the steps, and what runs in each sandbox of it."""

    from_image: Path | None = Field(None, alias="fromImage")
    from_template: Path | None = Field(None, alias="fromTemplate")
    from_image_registry: dict[str, object] | None = Field(None, alias="fromImageRegistry")
    force: bool | None = None
    steps: Annotated[list[BuildStep], Field(max_length=MAX_STEPS)] = Field(default_factory=list)
    start_cmd: _Argument | None = Field(None, alias="startCmd")
    ready_cmd: _Argument | None = Field(None, alias="readyCmd")


class BuildQuery(Asked):
    """Which log entries."""

    logs_offset: int | None = Field(None, alias="logsOffset", ge=0, lt=1 << 31)
    limit: int | None = Field(None, ge=0, le=MAX_LOGS)


class Tags(Asked):
    """Tags for the build that `target` names."""

    target: _Name
    tags: Annotated[list[_Name], Field(max_length=50)]


class RemoveTags(Asked):
    """Tags to take from a template."""

    name: _Name
    tags: Annotated[list[_Name], Field(max_length=50)]


class RequestedBuild(TypedDict):
    """A build that waits for its steps."""

    templateID: str
    buildID: str
    public: bool
    names: list[str]
    tags: list[str]
    aliases: list[str]


class UploadLink(TypedDict):
    """Whether the files are there, and where to PUT them as a tar."""

    present: bool
    url: str


class BuildLog(TypedDict):
    """One line of a build."""

    timestamp: str
    message: str
    level: Literal["debug", "info", "warn", "error"]
    step: NotRequired[str]


class BuildReason(TypedDict):
    """Why a build failed, and at which step: `base`, a number from 1, or `finalize`."""

    message: str
    step: NotRequired[str]


class BuildView(TypedDict):
    """How far a build is."""

    templateID: str
    buildID: str
    status: Literal["waiting", "building", "ready", "error"]
    logs: list[str]
    logEntries: list[BuildLog]
    reason: NotRequired[BuildReason]


class AssignedTags(TypedDict):
    """The build that has the tags now."""

    tags: list[str]
    buildID: str


class TagView(TypedDict):
    """One tag of a template."""

    tag: str
    buildID: str
    createdAt: str


class TemplateView(TypedDict):
    """A template, by its newest build. Its uses are not counted."""

    templateID: str
    buildID: str
    names: list[str]
    aliases: list[str]
    public: bool
    cpuCount: int
    memoryMB: int
    diskSizeMB: int
    createdAt: str
    updatedAt: str
    createdBy: None
    lastSpawnedAt: None
    spawnCount: int
    buildCount: int
    envdVersion: str
    buildStatus: Literal["ready"]
