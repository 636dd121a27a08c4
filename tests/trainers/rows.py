"""A row, one whose verdict is lost (its own checker is broken), and answers."""

from __future__ import annotations

from typing import Final

METADATA: Final = {"unit_tests": {"inputs": ["2", "21"], "outputs": ["4", "42"]}}
LOST: Final = {**METADATA, "checker": {"type": "program", "style": "kattis", "language": "python", "source": "1/0"}}
RIGHT: Final = "```python\nprint(2 * int(input()))\n```"
WRONG: Final = "```python\nprint(4)\n```"
