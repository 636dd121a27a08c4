"""Example requests that servers answer with a verdict, for the OpenAPI documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.server.protocol.wire import Document

_GCD: Final = "```python\nimport math\na, b = map(int, input().split())\nprint(math.gcd(a, b))\n```"
_MIN: Final = "```python\na, b = map(int, input().split())\nprint(min(a, b))\n```"


def _asked(text: str) -> Document:
    return {"input": [{"role": "user", "content": text}]}


def _coding(answer: str) -> Document:
    return {
        "responses_create_params": _asked("Read two positive integers from one line and print their gcd."),
        "verifier_metadata": {
            "unit_tests": {"inputs": ["12 18", "7 13"], "outputs": ["6", "1"]},
            "language": "python",
            "difficulty": "easy",
        },
        "response": response_of(answer),
    }


CODING: Final[Mapping[str, Document]] = {"a right answer": _coding(_GCD), "a wrong answer": _coding(_MIN)}
MATH: Final[Mapping[str, Document]] = {
    "math_with_judge": {
        "responses_create_params": _asked("Write 0.75 as a fraction in lowest terms."),
        "question": "Write 0.75 as a fraction in lowest terms.",
        "expected_answer": "\\frac{3}{4}",
        "response": response_of("It is $\\boxed{\\dfrac34}$."),
    },
    "math_with_code": {
        "responses_create_params": _asked("What is 12345 * 6789?"),
        "expected_result": "83810205",
        "response": response_of("\\boxed{83810205}"),
    },
    "ns_tools": {
        "responses_create_params": _asked("What is 12345 * 6789?"),
        "question": "What is 12345 * 6789?",
        "expected_answer": "83810205",
        "verifier_type": "math_with_judge",
        "response": response_of("\\boxed{83810205}"),
    },
}
_FIX: Final = """diff --git a/inflection/__init__.py b/inflection/__init__.py
--- a/inflection/__init__.py
+++ b/inflection/__init__.py
@@ -223,7 +223,7 @@

     \"\"\"
     number = abs(int(number))
-    if number in (11, 12, 13):
+    if number % 100 in (11, 12, 13):
         return "th"
     else:
         return {
"""
_TESTS: Final = """diff --git a/tests/test_issue.py b/tests/test_issue.py
new file mode 100644
--- /dev/null
+++ b/tests/test_issue.py
@@ -0,0 +1,5 @@
+import inflection
+
+
+def test_teens_beyond_a_hundred():
+    assert [inflection.ordinal(n) for n in (111, 212, 1013)] == ['th', 'th', 'th']
"""
SWE: Final[Mapping[str, Document]] = {
    "a patch that fixes it": {
        "instance_id": "sandbox_gym__inflection-teens",
        "repo": "inflection",
        "problem_statement": "`ordinal(111)` gives 'st', and should be 'th'.",
        "environment": {
            "source": "inflection==0.5.1",
            "packages": ["pytest<8.4"],
            "install": [
                "sed -i 's/number % 100 in (11, 12, 13)/number in (11, 12, 13)/' inflection/__init__.py",
                "pip install -q --no-build-isolation -e .",
            ],
        },
        "patch": _FIX,
        "test_patch": _TESTS,
        "FAIL_TO_PASS": ["tests/test_issue.py::test_teens_beyond_a_hundred"],
        "PASS_TO_PASS": [],
        "responses_create_params": _asked("Mend the repository."),
        "response": response_of("Done."),
        "model_patch": _FIX,
    }
}
EVALUATOR: Final[Document] = {
    "response": "It is \\boxed{4}.",
    "expected": "4",
    "metadata": {"question": "What is 2 + 2?"},
}
AGGREGATED: Final[Document] = {
    "verify_responses": [
        {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1.0},
        {"_ng_task_index": 0, "_ng_rollout_index": 1, "reward": 0.0},
    ]
}
