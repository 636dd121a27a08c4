"""Every route as Markdown, from the servers' OpenAPI documents. Knows no route by name."""

from __future__ import annotations

import json
import re
from typing import cast

from docs.generate.pool import API, pool_document
from docs.generate.served import document
from docs.generate.tables import code, table

Node = dict[str, "Node | str | list[str]"]
_HEAD = ("method", "route", "does", "takes", "gives", "statuses")


def routes_page(name: str) -> str:
    """The operations of a server, or of an interface of the pool, by tag: method, path, what it does, its statuses."""
    by_tag: dict[str, list[tuple[str, ...]]] = {}
    paths = cast("dict[str, dict[str, Node]]", (pool_document(name) if name in API else document(name))["paths"])
    for route, methods in paths.items():
        for method, one in methods.items():
            tag = cast("list[str]", one.get("tags") or ["other"])[0]
            statuses = ", ".join(sorted(cast(Node, one["responses"])))
            given = [reply for status, reply in cast(Node, one["responses"]).items() if status < "300"]
            about = (str(one.get("summary", "")), _bodies(one.get("requestBody")), _bodies(given), statuses)
            by_tag.setdefault(tag, []).append((method.upper(), code(route), *about))
    return "\n\n".join(f"**{tag}**\n\n{table(_HEAD, rows)}" for tag, rows in by_tag.items())


def _bodies(found: object) -> str:
    """The names of the bodies that it refers to."""
    names = dict.fromkeys(re.findall(r"#/components/schemas/(\w+)", json.dumps(found)))
    return ", ".join(map(code, names))
