"""What goes to the terminal. Text of rows, boxes and models is hostile: none of it reaches the terminal as a command.

stdout has results, stderr all else. JSON is ASCII where a terminal could take a character for more than itself.
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
from sandbox_gym.server.protocol.wire import Document, dumps

_IN_JSON: Final = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)


def visible(text: str, *, breaks: bool = False) -> str:
    """A stranger's text inside rich's markup. `breaks`: line ends and tabs may stay."""
    return escape(spelled(text, breaks=breaks))


def print_json(document: Document) -> None:
    """One JSON document on a line of stdout, at once."""
    text = dumps(document).decode()
    safe = _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    sys.stdout.buffer.write(safe.encode() + b"\n")
    sys.stdout.buffer.flush()


def say(text: str) -> None:
    """One line of markup on stderr: what is said beside results. Put `visible` text in."""
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)


def harmless_event(_logger: object, _method: str, event: EventDict) -> EventDict:
    """structlog: a box's words in a log line are words."""
    return {name: spelled(value) if isinstance(value, str) else value for name, value in event.items()}


def log_to_stderr() -> None:
    """stdout is for results; stderr is looked up each time, for a test may have replaced it."""
    processors = structlog.get_config()["processors"]
    mine: list[Processor] = [] if harmless_event in processors else [harmless_event]
    structlog.configure(
        processors=[*processors[:-1], *mine, processors[-1]],
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
