"""Texts of rows that are no text: half a surrogate pair can't be written as UTF-8, so no program can be given it and no
output can match it. Such a row is refused by name, for with it every answer would be judged wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox_gym.errors import RequestError

_HOLDS_TEXT = (str, Mapping, list)
_LONE = re.compile("[\ud800-\udfff]")


def must_be_text(value: object, field: str) -> None:
    """Raises RequestError naming the first string or key within `value`, which is JSON, that holds a lone surrogate."""
    waiting: list[tuple[object, str]] = [(value, field)]
    while waiting:
        one, path = waiting.pop()
        if isinstance(one, str):
            if not one.isascii() and (found := _LONE.search(one)):
                problem = f"holds a lone surrogate (U+{ord(found[0]):04X}) at character {found.start()}"
                raise RequestError(path, problem, "give Unicode text, or leave the row out")
        elif isinstance(one, Mapping):
            for key, item in one.items():
                if not key.isascii():
                    waiting.append((key, path))
                if isinstance(item, _HOLDS_TEXT):
                    waiting.append((item, f"{path}.{key}"))
        elif isinstance(one, list):
            waiting.extend(
                (item, f"{path}[{index}]") for index, item in enumerate(one) if isinstance(item, _HOLDS_TEXT)
            )
