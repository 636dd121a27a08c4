"""A grader as many training loops have it: the answer runs in the process that knows the expected outputs.

One row on standard input; exit code 0 is a pass. It is here to be fooled: `run.py` shows its verdicts beside ours.
"""

import io
import json
import sys
from contextlib import redirect_stdout


def grade(source: str, tests: dict[str, list[str]], function: str) -> None:
    """Raises AssertionError at the first wrong output, and whatever the answer raises."""
    for given, expected in zip(tests["inputs"], tests["outputs"], strict=True):
        if function:
            namespace: dict[str, object] = {}
            exec(source, namespace)
            order = namespace[function]
            assert callable(order)
            assert order(*map(json.loads, given.split("\n"))) == json.loads(expected)
        else:
            sys.stdin, printed = io.StringIO(given), io.StringIO()
            with redirect_stdout(printed):
                exec(source, {"__name__": "__main__"})
            assert printed.getvalue().split() == expected.split()


if __name__ == "__main__":
    row = json.load(sys.stdin)
    unit_tests = row["verifier_metadata"]["unit_tests"]
    grade(row["answer"].split("```python\n")[1].split("\n```")[0], unit_tests, unit_tests.get("fn_name", ""))
