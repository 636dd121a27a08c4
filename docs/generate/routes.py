"""Every route as Markdown, from the servers' OpenAPI documents. Knows no route by name."""

from __future__ import annotations

from typing import cast

from docs.generate.served import document
from docs.generate.tables import code, table

Node = dict[str, "Node | str | list[str]"]


def routes_page(server: str, path: str = "/openapi.json") -> str:
    """A document's operations by tag: method, path, what it does, the statuses that it answers."""
    by_tag: dict[str, list[tuple[str, str, str, str]]] = {}
    paths = cast("dict[str, dict[str, Node]]", document(server, path)["paths"])
    for route, methods in paths.items():
        for method, one in methods.items():
            tag = cast("list[str]", one.get("tags") or ["other"])[0]
            statuses = ", ".join(sorted(cast(Node, one["responses"])))
            by_tag.setdefault(tag, []).append((method.upper(), code(route), str(one.get("summary", "")), statuses))
    parts = [f"**{tag}**\n\n{table(('method', 'route', 'does', 'statuses'), rows)}" for tag, rows in by_tag.items()]
    return "\n\n".join(parts)
