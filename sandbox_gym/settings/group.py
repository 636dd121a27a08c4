"""Groups of settings, and their flat names, the path joined by `_`: in the environment, YAML, options and the journal.
Knows no group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

MOST: Final = 1_000_000_000_000
"""Of any number: seconds, MiB and counts beyond it overflow what the kernel and the libraries count with."""


class Group(BaseModel):
    """A group of settings: frozen, a name that it does not know is refused, and so is a number without an end."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _names_a_path(cls, value: object, info: ValidationInfo) -> object:
        """An empty path would be the working folder, and a name that is no text is in no URL and no log."""
        if isinstance(value, str) and not value.isascii() and value != value.encode("utf-8", "replace").decode():
            raise ValueError("is no UTF-8 text: name what is")
        if value == "" and cls.model_fields[str(info.field_name)].annotation in (Path, Path | None):
            raise ValueError("is empty: name a path, or leave the setting out")
        return value

    @field_validator("*")
    @classmethod
    def _can_be_counted(cls, value: object) -> object:
        if isinstance(value, int | float) and not -MOST <= value <= MOST:
            raise PydanticCustomError("less_than_most", "Input should be less than or equal to {most}", {"most": MOST})
        return value


Model = TypeVar("Model", bound=BaseModel)


def groups(settings: type[BaseModel]) -> dict[str, type[Group]]:
    """The tables of a settings class, by name."""
    fields = settings.model_fields.items()
    return {
        name: each.annotation
        for name, each in fields
        if isinstance(each.annotation, type) and issubclass(each.annotation, Group)
    }


def paths(settings: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """The path of every setting, by flat name."""
    tables = groups(settings)
    found: dict[str, tuple[str, ...]] = {name: (name,) for name in settings.model_fields if name not in tables}
    for table, group in tables.items():
        found |= {f"{table}_{name}": (table, name) for name in group.model_fields}
    return found


def nested(settings: type[BaseModel], values: Mapping[str, object]) -> dict[str, object]:
    """`values` with what has a flat name in its table; what has none stays where it is."""
    known = paths(settings)
    top: dict[str, object] = {}
    tables: dict[str, dict[str, object]] = {}
    for name, value in values.items():
        *table, field = known.get(name, (name,))
        if table:
            tables.setdefault(table[0], {})[field] = value
        else:
            top[field] = value
    for table_name, fields in tables.items():
        given = top.get(table_name)
        top[table_name] = {**(given if isinstance(given, dict) else {}), **fields}
    return top


def named(settings: type[BaseModel], location: Sequence[str | int]) -> str:
    """A place in the settings by the flat name of its setting, or by dots where no setting is there."""
    flat = "_".join(map(str, location[:2]))
    parts = [flat, *location[2:]] if flat in paths(settings) else location
    return ".".join(map(str, parts))


def changed(settings: Model, values: Mapping[str, object]) -> Model:
    """A copy of `settings` with these values, by flat name. Raises KeyError for a name that is none."""
    known = paths(type(settings))
    update: dict[str, object] = {}
    for name, value in values.items():
        *table, field = known[name]
        if table:
            group = update.get(table[0], getattr(settings, table[0]))
            assert isinstance(group, Group)
            update[table[0]] = group.model_copy(update={field: value})
        else:
            update[field] = value
    return settings.model_copy(update=update)


def is_set(settings: BaseModel, name: str) -> bool:
    """Whether a setting was given, by flat name, rather than left to its default."""
    model, path = settings, paths(type(settings))[name]
    for table in path[:-1]:
        if table not in model.model_fields_set:
            return False
        model = getattr(model, table)
    return path[-1] in model.model_fields_set


def value_of(settings: BaseModel, name: str) -> object:
    """A setting by flat name. Raises KeyError for a name that is none."""
    value: object = settings
    for part in paths(type(settings))[name]:
        value = getattr(value, part)
    return value
