"""Every setting with its names, type, default and meaning: what the reference page of the docs is made from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sandbox_gym.settings.environment import PREFIX
from sandbox_gym.settings.names import groups, paths


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting."""

    table: str
    """Its table in the file; empty for the top level."""
    name: str
    variable: str
    """In the environment."""
    type: str
    """As JSON Schema has it, short: `integer`, `string`, `"a" | "b"`."""
    default: str
    """As JSON; empty where it depends on the machine."""
    bounds: str
    """Such as `>= 2`; empty where there are none."""
    description: str


_BOUNDS: Final = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def entries(settings: type[BaseModel]) -> Iterator[Entry]:
    """All settings: the top level first, then table by table."""
    tables = groups(settings)
    for flat, (*table, name) in paths(settings).items():
        model = tables[table[0]] if table else settings
        field = model.model_fields[name]
        schema: Mapping[str, object] = model.model_json_schema()["properties"][name]
        yield Entry(
            table=table[0] if table else "",
            name=name,
            variable=PREFIX + flat.upper(),
            type=_type(schema),
            default=_default(field),
            bounds=", ".join(f"{sign} {schema[key]}" for key, sign in _BOUNDS.items() if key in schema),
            description=field.description or "",
        )


def _default(field: FieldInfo) -> str:
    factory = field.default_factory
    if factory is None:
        return json.dumps(field.default, default=str)
    return {list: "[]", dict: "{}"}.get(factory, "")  # type: ignore[call-overload, no-any-return]


def _type(schema: Mapping[str, object]) -> str:
    choices, parts = schema.get("enum"), schema.get("anyOf")
    if isinstance(choices, list):
        return " | ".join(json.dumps(choice) for choice in choices)
    if isinstance(parts, list):
        return " | ".join(_type(part) for part in parts)
    items, values, name = schema.get("items"), schema.get("additionalProperties"), str(schema.get("type", "any"))
    if isinstance(items, dict):
        return f"list of {_type(items)}"
    if name == "object":
        return f"table of {_type(values)}" if isinstance(values, dict) else "table"
    return name
