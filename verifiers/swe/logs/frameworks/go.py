"""`go test -v` and `go test -json`. Ids: `TestA`, `TestA/a_case`; of tests of one name the worst counts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from .results import Results

_END = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$")
_STATUS = {"PASS": "PASSED", "FAIL": "FAILED", "SKIP": "SKIPPED"}
_BEGIN = "=== RUN   "
_PACKAGE = ("ok  \t", "FAIL\t", "?   \t")


def gotest(lines: Iterable[str]) -> Results:
    """What a test prints without a line's end stands before its result in the same line."""
    results = Results()
    for line in lines:
        at = line.find(_BEGIN)
        if at >= 0:
            results.begin(line[at + len(_BEGIN) :].strip())
        elif line.startswith(_PACKAGE):
            results.ended = True
        elif (found := _END.search(line)) is not None:
            results.add(found[2], _STATUS[found[1]])
    return results.close()


def gotest_json(lines: Iterable[str]) -> Results:
    """Events of test2json. What tests print is in them as text, which is looked into for one thing: before Go 1.20 a
    result that follows a print without a line's end is no event.
    """
    results = Results()
    for line in lines:
        event = _event(line)
        action, test = event.get("Action"), event.get("Test")
        if not isinstance(action, str):
            continue
        if not isinstance(test, str):
            results.ended = results.ended or action in ("pass", "fail", "skip")
        elif action == "run":
            results.begin(test)
        elif action.upper() in _STATUS:
            results.add(test, _STATUS[action.upper()])
        elif action == "output":
            glued = _END.search(str(event.get("Output", "")).rstrip("\n"))
            if glued is not None and glued.start() and glued[2] == test:
                results.add(test, _STATUS[glued[1]])
    return results.close()


def _event(line: str) -> dict[str, object]:
    if not line.startswith("{"):
        return {}
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
