"""Errors in logs without the values of local variables: those hold tokens, answers and expected outputs."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from structlog.typing import Processor


def without_locals(processors: Sequence[Processor]) -> list[Processor]:
    """The same processors, of which none prints local variables; structlog's console does by default where rich is
    installed."""
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    return [plain if isinstance(one, structlog.dev.ConsoleRenderer) else one for one in processors]
