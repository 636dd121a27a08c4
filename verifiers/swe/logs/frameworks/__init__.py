"""Readers of what test frameworks print, one per format: `READERS[name](lines) -> Results`.

They run in the box that a log is read in (Python 3.9, standard library only). Each is linear in its log, whatever the
log holds: lines are bounded, and no expression repeats a repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .go import gotest, gotest_json
from .javascript import jest, mocha, tap, vitest
from .jvm import gradle, maven
from .others import cargo, ctest, phpunit, rspec
from .results import Results, lines_of

READERS: dict[str, Callable[[Iterable[str]], Results]] = {
    "cargo": cargo,
    "ctest": ctest,
    "gotest": gotest,
    "gotest_json": gotest_json,
    "gradle": gradle,
    "jest": jest,
    "maven": maven,
    "mocha": mocha,
    "phpunit": phpunit,
    "rspec": rspec,
    "tap": tap,
    "vitest": vitest,
}

__all__ = ["READERS", "Results", "lines_of"]
