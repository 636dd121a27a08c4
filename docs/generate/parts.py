"""The generated parts by name, and their marks in pages: `<!-- generated: settings -->` on a line of its own."""

from __future__ import annotations

import re
from typing import Final

from docs.generate.bodies import bodies_page
from docs.generate.commands import command_page
from docs.generate.metrics import metrics_page
from docs.generate.routes import routes_page
from docs.generate.settings import settings_page

MARK: Final = re.compile(r"^<!-- generated: (.+?) -->$", re.MULTILINE)


def filled(text: str) -> str:
    """A page with its generated parts in place of their marks."""
    return MARK.sub(lambda mark: part(mark[1]), text)


def part(name: str) -> str:
    """One part: `settings`, `metrics`, `command verify`, `routes envd`. Raises KeyError for another name."""
    kind, _, which = name.partition(" ")
    match kind:
        case "settings":
            return settings_page()
        case "metrics":
            return metrics_page()
        case "command":
            return command_page(which)
        case "bodies":
            return bodies_page(which)
        case "routes":
            return routes_page(which)
    raise KeyError(name)
