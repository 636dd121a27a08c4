"""What the tools of a software engineering agent take, told to models: a schema each, its docstring describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import BaseModel, Field, StrictBool, StrictInt

from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.tools.session_tools import Bash

MAX_TEST_IDS: Final = 1000
_PATH: Final = "Relative to the repository's folder, or absolute."


class View(BaseModel):
    """Show a file with line numbers, or what a folder holds, to two levels."""

    path: str = Field(description=_PATH)
    view_range: tuple[StrictInt, StrictInt] | None = Field(
        None, description="First and last line to show, from 1; -1 as the last is the file's end."
    )


class StrReplace(BaseModel):
    """Replace the one place where old_str stands in a file by new_str. Refused unless there is exactly one."""

    path: str = Field(description=_PATH)
    old_str: str = Field(description="The text as it stands there, blanks and line ends included.")
    new_str: str = Field("", description="What is to stand there instead.")


class Create(BaseModel):
    """Write a new file and the folders it needs."""

    path: str = Field(description=_PATH)
    file_text: str
    overwrite: StrictBool = Field(False, description="Replace the file if there is one.")


class Insert(BaseModel):
    """Put lines into a file."""

    path: str = Field(description=_PATH)
    insert_line: StrictInt = Field(ge=0, description="The line to put them after; 0 is before the first.")
    insert_text: str


class Find(BaseModel):
    """Find files by name, or lines by content."""

    pattern: str = Field(
        min_length=1,
        max_length=1000,
        description="For names a glob or a part of the name; for content an extended regular expression.",
    )
    path: str = Field(".", description=f"Where to look. {_PATH}")
    kind: Literal["name", "content"] = "name"


class RunTests(BaseModel):
    """Run the repository's visible tests and show what they print."""

    test_ids: list[str] = Field(
        default_factory=list, max_length=MAX_TEST_IDS, description="Which tests; all of them unless given."
    )


class Submit(BaseModel):
    """Hand in the work: everything that differs from the base commit, new and committed files included."""


ARGUMENTS: Final[Mapping[str, type[BaseModel]]] = {
    "bash": Bash,
    "view": View,
    "str_replace": StrReplace,
    "create": Create,
    "insert": Insert,
    "find": Find,
    "run_tests": RunTests,
    "submit": Submit,
}
"""The tools that are for models, by name."""


def described(model: type[BaseModel]) -> str:
    """The tool's description for the model."""
    return " ".join((model.__doc__ or "").split())


def schema(model: type[BaseModel]) -> Document:
    """The arguments' JSON schema, without titles and what is said elsewhere."""
    document: Document = model.model_json_schema()
    document.pop("description", None)
    return document
