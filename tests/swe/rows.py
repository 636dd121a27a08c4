"""Rows for tests, as the datasets have them."""

from __future__ import annotations

from pathlib import Path

from sandbox_gym.verifiers.swe import SweTask, parse_task

TEST_PATCH = """diff --git a/tests/test_a.py b/tests/test_a.py
--- a/tests/test_a.py
+++ b/tests/test_a.py
@@ -1,2 +1,3 @@
 def test_a():
-    assert False
+    assert True
+
"""
GOLD = """diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1 @@
-x = 1
+x = 2
"""
SWEBENCH: dict[str, object] = {
    "repo": "astropy/astropy",
    "instance_id": "astropy__astropy-12907",
    "base_commit": "d16bfe05a744909de4b27f5875fe0d4ed41ce607",
    "version": "4.3",
    "patch": GOLD,
    "test_patch": TEST_PATCH,
    "problem_statement": "Mend it.",
    "hints_text": "",
    "created_at": "2022-03-03T15:14:54Z",
    "FAIL_TO_PASS": '["tests/test_a.py::test_a[compound_model6-result6]"]',
    "PASS_TO_PASS": '["tests/test_a.py::test_b", "tests/test_a.py::test_c"]',
    "environment_setup_commit": "298ccb478e6bf092953bca67a3d29dc6c35f6752",
    "difficulty": "15 min - 1 hour",
}


def own_task(workdir: Path, fail: list[str], hold: list[str] | None = None, **more: object) -> SweTask:
    """A task in a folder of this machine."""
    return parse_task(
        {
            "instance_id": "made-1",
            "repo": "made/made",
            "FAIL_TO_PASS": fail,
            "PASS_TO_PASS": hold or [],
            "environment": {"base_image": "made"},
            "workdir": str(workdir),
            **more,
        }
    )
