"""Reads a row's fields one by one; an error names the field, the value and the remedy."""

from __future__ import annotations

import contextlib
import keyword
import math
from collections.abc import Mapping, Sequence

from sandbox_gym.errors import wrong as wrong

ROOT = "verifier_metadata"


def positive(row: Mapping[str, object], name: str, root: str = ROOT, *, zero: bool = False) -> float | None:
    """A finite number above zero, or from zero on; None where the row has none."""
    value = row.get(name)
    if value is None:
        return None
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # such an integer is as wrong as infinity
            number = float(value)
    if not math.isfinite(number) or number < 0 or (number == 0 and not zero):
        bound = "not less than" if zero else "greater than"
        raise wrong(f"{root}.{name}", value, f"give a finite number {bound} zero, or leave it out")
    return number


def flag(row: Mapping[str, object], name: str, root: str = ROOT, *, default: bool = False) -> bool:
    value = row.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise wrong(f"{root}.{name}", value, "give true or false")
    return value


def choice(row: Mapping[str, object], name: str, allowed: Sequence[str], root: str = ROOT) -> str:
    """One of `allowed`; the first where the row has none."""
    value = row.get(name)
    if value is None:
        return allowed[0]
    if not isinstance(value, str) or value not in allowed:
        raise wrong(f"{root}.{name}", value, f"give one of {', '.join(dict.fromkeys(allowed))}")
    return value


def text(row: Mapping[str, object], name: str, root: str = ROOT, *, remedy: str = "give a string") -> str:
    """A string; empty where the row has none."""
    value = row.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise wrong(f"{root}.{name}", value, remedy)
    return value


def identifier(name: object, field: str) -> str:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        remedy = "give the function's name, a Python identifier"
        of_class = isinstance(name, str) and all(part.isidentifier() for part in name.split("."))
        raise wrong(field, name, f"{remedy}; for what a class has give `test` and entry_point" if of_class else remedy)
    return name


def texts(value: object, field: str) -> tuple[str, ...]:
    """A list of strings."""
    if not isinstance(value, list):
        raise wrong(field, value, "give a list of strings")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise wrong(f"{field}[{index}]", item, "give a string")
    return tuple(value)


def mapping(value: object, field: str, remedy: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise wrong(field, value, remedy)
    return value
