"""Output to the terminal. Text of rows, sandboxes and models may be hostile: no control sequence of it gets through.

Results go to stdout, everything else to stderr. JSON is ASCII on a terminal, which could interpret other characters.
"""

from __future__ import annotations

import re
import sys
from typing import Final

import structlog
from rich.console import Console
from rich.markup import escape
from structlog.typing import EventDict, Processor

from sandbox_gym.observe.sanitize import spelled
from sandbox_gym.observe.tracebacks import without_locals
from sandbox_gym.server.protocol.wire import Document, dumps

_IN_JSON: Final = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def visible(text: str, *, breaks: bool = False) -> str:
    """Untrusted text, escaped for rich's markup. `breaks`: keep line ends and tabs."""
    return escape(spelled(text, breaks=breaks))


def print_json(document: Document) -> None:
    """Print one JSON document on a line of stdout, and flush."""
    text = dumps(document).decode()
    safe = _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.buffer.write(safe.encode() + b"\n")
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """Print one line of markup on stderr. Untrusted text must go through `visible` first."""
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)


def harmless_event(_logger: object, _method: str, event: EventDict) -> EventDict:
    """A structlog processor that escapes untrusted text in log lines."""
    return {name: spelled(value) if isinstance(value, str) else value for name, value in event.items()}


def log_to_stderr() -> None:
    """Send logs to stderr, which is looked up for each line because tests replace it."""
    processors = structlog.get_config()["processors"]
    mine: list[Processor] = [] if harmless_event in processors else [harmless_event]
    structlog.configure(
        processors=without_locals([*processors[:-1], *mine, processors[-1]]),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
