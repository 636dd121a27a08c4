"""PyPI's swebench as a filter, in an environment of its own: a JSON request a line in, its verdict a line out.

{"log"} or {"statuses"}, with {"FAIL_TO_PASS", "PASS_TO_PASS"}, becomes {"statuses", "report", "resolution"}.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping


def graded(request: Mapping[str, object]) -> dict[str, object]:
    from swebench.harness.grading import get_eval_tests_report, get_resolution_status
    from swebench.harness.log_parsers.python import parse_log_pytest

    statuses = request.get("statuses")
    if statuses is None:
        statuses = parse_log_pytest(request["log"], None)
    gold = {name: request[name] for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    report = get_eval_tests_report(statuses, gold)
    return {"statuses": statuses, "report": report, "resolution": get_resolution_status(report)}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(graded(json.loads(line))) + "\n")
        sys.stdout.flush()
