"""Declaration of one route: its parameters and body, and the body of each response status.

Shapes are types that pydantic describes: models that check a request's body, typed dictionaries and dataclasses of
responses. No schema is written by hand. Knows no route and no HTTP framework.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel

JSON: Final = "application/json"
TEXT: Final = "text/plain"
HTML: Final = "text/html"
_PARAMETER: Final = re.compile(r"\{([^{}:]+)(?::[a-z]+)?\}")


@dataclass(frozen=True, slots=True)
class Content:
    """A body: the type that describes it (None: bytes), its media type, and examples by name."""

    shape: object
    media_type: str = JSON
    examples: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """A header of a response."""

    name: str
    description: str
    schema: Mapping[str, object]
    always: bool = False
    """Whether every response of that status has it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a request, besides its body."""

    name: str
    within: Literal["header", "query", "path"]
    description: str
    schema: Mapping[str, object]
    required: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """The response of one status. Several contents: one of them."""

    description: str
    contents: tuple[Content, ...] = ()
    headers: tuple[Header, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path. `path` in the router's form, with parameters as `{name}` or `{name:int}`."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    summary: str
    tag: str
    replies: Mapping[int, Reply]
    description: str = ""
    name: str = ""
    """The operation's id; empty for one made of the path."""
    bodies: tuple[Content, ...] = ()
    body_required: bool = True
    parameters: tuple[Parameter, ...] = ()
    security: tuple[str, ...] = ()
    """Names of security schemes, any of which suffices; empty for none."""

    @property
    def operation_id(self) -> str:
        """Unique in a document."""
        return self.name or re.sub(r"[^a-z0-9]+", "_", f"{self.method} {self.path}".lower()).strip("_")

    @property
    def template(self) -> str:
        """The path in OpenAPI's form: without converters."""
        return _PARAMETER.sub(r"{\1}", self.path)

    @property
    def path_parameters(self) -> tuple[str, ...]:
        """The path's own parameters."""
        return tuple(match[1] for match in _PARAMETER.finditer(self.path))


def parameters_of(
    model: type[BaseModel], within: Literal["header", "query"], *, required: bool = False
) -> tuple[Parameter, ...]:
    """One parameter for each field of the model that checks them, under the field's alias."""
    document = model.model_json_schema()
    needed = set(document.get("required", ()))
    found: list[Parameter] = []
    for name, given in document["properties"].items():
        # an absent parameter has the default; a header or query can't express null
        schema = {key: value for key, value in given.items() if key not in ("title", "description", "default")}
        options = [option for option in schema.pop("anyOf", ()) if option != {"type": "null"}]
        schema |= options[0] if len(options) == 1 else {"anyOf": options} if options else {}
        found.append(Parameter(name, within, given.get("description", ""), schema, required or name in needed))
    return tuple(found)
