"""Every setting as Markdown, from the fields of `Settings` and the docstrings below them.

Groups of settings are fields whose type is a model: each becomes a table of its own. Knows no setting by name.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from docs.generate.tables import code, table
from sandbox_gym.config import Settings


@dataclass(frozen=True)
class Setting:
    """One of them: `path` in the file, the variable, type, default and meaning as shown."""

    path: tuple[str, ...]
    variable: str
    kind: str
    default: str
    meaning: str


def settings_page() -> str:
    """Tables of all settings, those without a group first."""
    groups: dict[str, list[Setting]] = {}
    for setting in settings():
        groups.setdefault(".".join(setting.path[:-1]), []).append(setting)
    intros = {".".join(path): _summary(model) for path, model in _models(Settings, ())}
    parts = []
    for name in sorted(groups):
        heading = f"## {name}" if name else "## Without a group" if len(groups) > 1 else "## All settings"
        parts += [heading, intros.get(name, ""), _table(groups[name])]
    return "\n\n".join(part for part in parts if part)


def settings() -> list[Setting]:
    """All of them, in the order of their declaration."""
    return list(_of(Settings, (), Settings.model_config.get("env_prefix", "")))


def _table(found: list[Setting]) -> str:
    rows = [(code(one.variable), code(one.path[-1]), code(one.kind), one.default, one.meaning) for one in found]
    return table(("variable", "in the file", "type", "default", "meaning"), rows)


def _of(model: type[BaseModel], path: tuple[str, ...], prefix: str) -> Iterator[Setting]:
    meanings = _docstrings(model)
    for name, field in model.model_fields.items():
        group = _group(field.annotation)
        if group is not None:
            yield from _of(group, (*path, name), _prefix_of(group, f"{prefix}{name}"))
            continue
        meaning = field.description or meanings.get(name, "")
        yield Setting(
            (*path, name), f"{prefix}{name}".upper(), _kind(field), _default(field), textwrap.dedent(meaning).strip()
        )


def _models(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    for name, field in model.model_fields.items():
        group = _group(field.annotation)
        if group is not None:
            yield (*path, name), group
            yield from _models(group, (*path, name))


def _group(annotation: object) -> type[BaseModel] | None:
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None


def _prefix_of(group: type[BaseModel], above: str) -> str:
    """What the variables of a group begin with: its own prefix, or the way to it."""
    own = group.model_config.get("env_prefix", "") if issubclass(group, BaseSettings) else ""
    return str(own or f"{above}{Settings.model_config.get('env_nested_delimiter') or '__'}")


def _summary(model: type[BaseModel]) -> str:
    own = model.__dict__.get("__doc__") or ""
    return " ".join(own.split())


def _docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """The text below each field, also of those that a class inherits."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each.__module__.startswith("sandbox_gym"):
            found.update(_own_docstrings(each))
    return found


def _own_docstrings(model: type) -> Iterator[tuple[str, str]]:
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(body, ast.ClassDef)
    for field, text in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            yield ast.unparse(field.target), str(text.value.value)


def _kind(field: FieldInfo) -> str:
    return _name(field.annotation) + "".join(f" {_bound(each)}" for each in field.metadata if _bound(each))


def _name(annotation: Any) -> str:
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(map(str, inner))
    if origin in (Union, UnionType):
        return " or ".join(_name(each) for each in inner if each is not type(None))
    if origin is typing.Annotated:
        return _name(inner[0])
    if origin in (list, dict):
        return f"{origin.__name__} of {' to '.join(map(_name, inner))}"
    return {str: "text", int: "int", float: "float", bool: "bool", Path: "path", object: "any"}.get(
        annotation, getattr(annotation, "__name__", str(annotation))
    )


def _bound(each: object) -> str:
    match each:
        case Ge():
            return f">= {each.ge}"
        case Gt():
            return f"> {each.gt}"
        case Le():
            return f"<= {each.le}"
        case Lt():
            return f"< {each.lt}"
    return ""


def _default(field: FieldInfo) -> str:
    if field.default_factory in (list, dict):
        return code("[]" if field.default_factory is list else "{}")
    if field.default_factory is not None:
        return "by the machine"
    if field.default is PydanticUndefined:
        return "required"
    if field.default is None or field.default == "":
        return ""
    value = field.default
    plain = isinstance(value, bool | int | float | list | dict)
    return code(json.dumps(value) if plain else str(value))
