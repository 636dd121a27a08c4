"""PyPI's swebench as a filter, in an environment of its own: a JSON request a line in, its verdict a line out.

{"log", "runner"} or {"statuses"}, with {"FAIL_TO_PASS", "PASS_TO_PASS"}, becomes {"statuses", "report", "resolution"}.
{"log", "parser", "spec"} becomes {"statuses"}, {"found"} (the log is believed to be of a run), or {"error"}.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tempfile
import types
from collections.abc import Mapping


def graded(request: Mapping[str, object]) -> dict[str, object]:
    from swebench.harness.grading import get_eval_tests_report, get_resolution_status
    from swebench.harness.log_parsers.python import parse_log_django, parse_log_pytest

    statuses = request.get("statuses")
    if statuses is None and request["runner"] == "unittest":
        read = parse_log_django(request["log"], None)  # the one that knows unittest's lines
        statuses = {_dotted(test): status for test, status in read.items()}
    elif statuses is None:
        statuses = parse_log_pytest(request["log"], None)
    gold = {name: request[name] for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    report = get_eval_tests_report(statuses, gold)
    return {"statuses": statuses, "report": report, "resolution": get_resolution_status(report)}


def _dotted(test: str) -> str:
    """unittest's own name of a test that it prints as `name (module.Class)`, since Python 3.11 `name
    (module.Class.name)`."""
    if (printed := re.fullmatch(r"(\w+) \(([\w.]+)\)", test)) is None:
        return test
    name, place = printed.groups()
    return place if place.endswith(f".{name}") else f"{place}.{name}"


def read(request: Mapping[str, object]) -> dict[str, object]:
    """Its reading of a log: as the file that its harness keeps, between the script's markers."""
    from swebench.harness.constants import END_TEST_OUTPUT, START_TEST_OUTPUT
    from swebench.harness.grading import get_logs_eval
    from swebench.harness.log_parsers import PARSER_REGISTRY

    known = request["spec"]
    assert isinstance(known, dict)
    spec = types.SimpleNamespace(log_parser=request["parser"], **known)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="") as file, contextlib.redirect_stdout(sys.stderr):
        file.write(f"{START_TEST_OUTPUT}{request['log']}{END_TEST_OUTPUT}")
        file.flush()
        with open(file.name, encoding="utf-8") as log:
            text = log.read()[len(START_TEST_OUTPUT) : -len(END_TEST_OUTPUT)]
        try:
            statuses = PARSER_REGISTRY[request["parser"]](text, spec)
        except Exception as error:
            return {"error": type(error).__name__}
        return {"statuses": statuses, "found": get_logs_eval(spec, file.name)[1]}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        sys.stdout.write(json.dumps(read(request) if "parser" in request else graded(request)) + "\n")
        sys.stdout.flush()
