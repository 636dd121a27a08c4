"""Rows by rule: types of values times ways to use them."""

from __future__ import annotations

from tests.honest.row import Row


def generated_rows(count: int, seed: int = 0) -> list[Row]:
    """At most `count` rows."""
    return []
