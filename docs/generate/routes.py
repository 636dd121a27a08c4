"""Every route as Markdown, from the servers' OpenAPI documents. Knows no route by name."""

from __future__ import annotations

from typing import cast

from docs.generate.pool import API, pool_document
from docs.generate.served import document
from docs.generate.tables import code, table

Node = dict[str, "Node | str | list[str]"]


def routes_page(name: str) -> str:
    """The operations of a server, or of an interface of the pool, by tag: method, path, what it does, its statuses."""
    by_tag: dict[str, list[tuple[str, str, str, str]]] = {}
    paths = cast("dict[str, dict[str, Node]]", (pool_document(name) if name in API else document(name))["paths"])
    for route, methods in paths.items():
        for method, one in methods.items():
            tag = cast("list[str]", one.get("tags") or ["other"])[0]
            statuses = ", ".join(sorted(cast(Node, one["responses"])))
            by_tag.setdefault(tag, []).append((method.upper(), code(route), str(one.get("summary", "")), statuses))
    parts = [f"**{tag}**\n\n{table(('method', 'route', 'does', 'statuses'), rows)}" for tag, rows in by_tag.items()]
    return "\n\n".join(parts)
