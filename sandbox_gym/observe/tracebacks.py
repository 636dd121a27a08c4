"""Errors in logs without the values of local variables: those hold tokens, answers and expected outputs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import structlog
from structlog.typing import Processor


def without_locals(processors: Sequence[Processor]) -> list[Processor]:
    """The same processors, of which none prints local variables; structlog's console does by default where rich is
    installed. Lines are in colour on a terminal alone, and with NO_COLOR nowhere."""
    forced, terminal = bool(os.environ.get("FORCE_COLOR")), sys.stderr is not None and sys.stderr.isatty()
    colors = not os.environ.get("NO_COLOR") and (forced or terminal)
    plain = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)
    return [plain if isinstance(one, structlog.dev.ConsoleRenderer) else one for one in processors]
