"""Each task that outlives a request has its policy in docs/design/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_ONE_CALL = {
    *(
        "one",
        "run",
        "ask",
        "exchange.ask",
        "self.send",
        "guarded",
        "watch",
        "follow",
        "leave",
        "ping",
        "remove",
        "work",
        "look",
        "engine.check",
    ),
    *(
        "self._send_ahead",
        "self._stop",
        "self._discard",
        "self.frozen.aclose",
        "self.give_up",
        "worker.work",
        "_work",
        "_read",
        "watch_signals",
        "partial(server.serve, sockets=[listener])",
    ),
    "link.run",
}
"""Parts of one exchange, sweep, command or stop, which end with it; and the fleet within a process, which tests use."""


def _started(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        if node.func.attr == "start_soon" or ast.unparse(node.func) == "tasks.start":
            yield ast.unparse(node.args[0])


def test_every_long_task_has_a_policy() -> None:
    page = (ROOT / "docs" / "design" / "architecture.md").read_text()
    told = page.partition("## What outlives what")[2].partition("\n## ")[0]
    found = {
        name for path in (ROOT / "sandbox_gym").rglob("*.py") if "guest" not in path.parts for name in _started(path)
    }
    assert found - OF_ONE_CALL
    assert {name for name in found - OF_ONE_CALL if f"`{name}`" not in told} == set()
