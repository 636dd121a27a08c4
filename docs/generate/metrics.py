"""Every metric as Markdown, from what running servers export. Knows no metric by name."""

from __future__ import annotations

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from docs.generate.served import METRICS, SERVERS, pages
from docs.generate.tables import code, table

_TOTAL = {"counter": "_total"}


def metrics_page() -> str:
    """One table: name, type, meaning, and the servers that have it where not all have."""
    found: dict[str, tuple[Metric, list[str]]] = {}
    for server in SERVERS:
        for family in text_string_to_metric_families(pages(server)[METRICS]):
            if not family.name.endswith("_created"):
                found.setdefault(family.name, (family, []))[1].append(server)
    everywhere = max(len(servers) for _, servers in found.values())
    rows = [
        (
            code(name + _TOTAL.get(family.type, "")),
            family.type,
            family.documentation + ("" if len(servers) == everywhere else f" ({', '.join(servers)})"),
        )
        for name, (family, servers) in sorted(found.items())
    ]
    return table(("metric", "type", "meaning"), rows)
