"""Prints how the rungs with math-verify do on labelled rows: `python -m tests.math.report DATA_FOLDER`."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import judged, library_alone, suite, through_ladder


def lines(folder: Path) -> list[str]:
    """The report: right of all, who decided, and each miss."""
    options = MathOptions(plain_answer=True, drop_thinking=True)
    rows = [json.loads(line) for line in (folder / "math_cases.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [(row, judged(row["gold"], row["answer"], options)) for row in rows]
    missed = [f"  {row['gold']} | {row['answer']} | label {row['expected']} | {by}" for row, by in found
              if by.equal != bool(row["expected"])]  # fmt: skip
    cases = suite()
    ladder = [(case, through_ladder(case)) for case in cases]
    lost = [f"  {case.gold[-80:]} | {case.pred[-80:]} | label {case.expected:d} | {by}" for case, by in ladder
            if by.equal != case.expected]  # fmt: skip
    alone = sum(library_alone(case) == case.expected for case in cases)
    return [
        f"labelled rows: {len(rows) - len(missed)} of {len(rows)} right; by {dict(Counter(by.by for _, by in found))}",
        *missed,
        f"math-verify's own suite: {len(cases) - len(lost)} of {len(cases)} right, the library alone {alone};"
        f" by {dict(Counter(by.by for _, by in ladder))}",
        *lost,
    ]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(Path(sys.argv[1]))) + "\n")
