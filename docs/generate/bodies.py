"""Every request and reply body as Markdown, from the servers' OpenAPI documents. Knows no body by name."""

from __future__ import annotations

from typing import cast

from docs.generate.served import SERVERS, document
from docs.generate.tables import code, table

Schema = dict[str, object]


def bodies_page(server: str) -> str:
    """A table of fields for each schema of the server's document that no server before it has alike."""
    known: dict[str, Schema] = {}
    for each in SERVERS[: SERVERS.index(server)]:
        known |= _schemas(each)
    own = {name: schema for name, schema in _schemas(server).items() if known.get(name) != schema}
    return "\n\n".join(_body(name, schema) for name, schema in sorted(own.items()))


def _schemas(server: str) -> dict[str, Schema]:
    components = cast("dict[str, dict[str, Schema]]", document(server)["components"])
    return components["schemas"]


def _body(name: str, schema: Schema) -> str:
    fields = cast("dict[str, Schema]", schema.get("properties", {}))
    needed = cast("list[str]", schema.get("required", []))
    rows = [
        (code(field), code(_type(about)), "yes" if field in needed else "", _meaning(about))
        for field, about in fields.items()
    ]
    shown = table(("field", "type", "always", "meaning"), rows) if rows else f"One of {code(_type(schema))}."
    return "\n\n".join(part for part in (f"### {name}", str(schema.get("description", "")), shown) if part)


def _type(about: Schema) -> str:
    """As short as it can be told: another body by its name, alternatives, lists, or what JSON calls it."""
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    several = cast("list[Schema]", about.get("anyOf") or about.get("oneOf") or [])
    if several:
        return " or ".join(dict.fromkeys(map(_type, several)))
    if "enum" in about or "const" in about:
        values = cast("list[object]", about.get("enum") or [about["const"]])
        return " or ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in values)
    if about.get("type") == "array":
        return f"list of {_type(cast(Schema, about.get('items', {})))}"
    if isinstance(about.get("additionalProperties"), dict):
        return f"object of {_type(cast(Schema, about['additionalProperties']))}"
    kind = about.get("type", "any")
    return " or ".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _meaning(about: Schema) -> str:
    default = about.get("default")
    shown = f" Unless given: {code(str(default))}." if default not in (None, "", [], {}) else ""
    return str(about.get("description", "")).strip() + shown
