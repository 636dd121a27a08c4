"""What a framework's log told: how each test ended, and whether the log agrees with itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINE = 16_384
"""Characters. No framework prints so long a result; longer lines are the tests' own."""
JOINT = " > "
"""Between the names of nested groups and the test's."""
_ESCAPE = re.compile(r"\x1b(?:\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|[\x40-\x5a\x5c-\x5f])")
_RANK = ("PASSED", "XFAIL", "SKIPPED", "ERROR", "FAILED")
"""From best to worst."""

TWICE = "log_result_twice"
UNCOUNTED = "log_passes_uncounted"
CUT_OFF = "log_without_summary"


class Results:
    """`statuses` by test id. A test that began and did not end is an ERROR; of two results the worse one counts."""

    def __init__(self) -> None:
        self.statuses: dict[str, str] = {}
        self.passes = 0
        """Lines by which a test passed."""
        self.counted: int | None = None
        """How many passed by the framework's own summaries; None where it printed none."""
        self.ended = False
        """The framework said that it came to its end."""
        self._begun: dict[str, None] = {}
        self._signs: dict[str, str] = {}

    def add(self, test: str, status: str) -> None:
        """A test's result."""
        if not test:
            return
        self._begun.pop(test, None)
        self.passes += status == "PASSED"
        self.note(test, status)

    def note(self, test: str, status: str) -> None:
        """A result of what no summary counts: a file, a class."""
        known = self.statuses.setdefault(test, status)
        if known != status:
            self._signs.setdefault(TWICE, f"{test[:150]}: {known} and {status}")
            self.statuses[test] = max(known, status, key=_RANK.index)

    def begin(self, test: str) -> None:
        if test:
            self._begun[test] = None

    def count(self, passed: int) -> None:
        """A summary's number of tests that passed."""
        self.counted = (self.counted or 0) + passed
        self.ended = True

    def close(self) -> Results:
        """No line comes any more."""
        for test in self._begun:
            self.note(test, "ERROR")
        if self.counted is not None and self.passes > self.counted:
            self._signs[UNCOUNTED] = "more tests pass by its lines than by its summary"
        if self.statuses and not self.ended:
            self._signs[CUT_OFF] = "it ends before the framework's summary"
        return self

    @property
    def signs(self) -> dict[str, str]:
        """What does not agree; their words hold no number, so that those of two runs are equal."""
        return dict(self._signs)


def lines_of(log: str) -> Iterator[str]:
    """Its whole lines without colours, and of a line that was written over what stands there in the end. A last line
    without its end is none: it may have been cut."""
    start = 0
    while (end := log.find("\n", start)) >= 0:
        if end - start <= MAX_LINE:
            line = log[start:end]
            if "\x1b" in line:
                line = _ESCAPE.sub("", line)
            yield line.rstrip("\r").rpartition("\r")[2]
        start = end + 1


def number_before(word: str, line: str) -> int:
    """The number that stands before a word of a summary, as 3 before `passed` in `1 failed, 3 passed`; 0 if none."""
    words = line.replace(",", " ").replace("|", " ").replace(";", " ").split()
    at = words.index(word) if word in words else 0
    return number(words[at - 1]) if at else 0


def number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
