"""The same tasks with one test each: the policy learns to print what the test expects. The server's radar tells,
`sandbox-gym audit` names the rows, and with more tests the same answers earn nothing.

python examples/train/weak_tests.py [--seed 0] [--steps 60] [--out train-out]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from curves import figures, picture, text_curve
from runs import Policy, train
from serving import live, serving, verdict_counts
from tasks import TASKS

BEFORE = 3
STEPS = 60
AFTER = 10
SIGN = "source_ignores_input"


def audited(rows: Sequence[Mapping[str, object]], out: Path, name: str) -> list[int]:
    """The numbers of the rows that `sandbox-gym audit` calls weak."""
    file, findings = out / f"{name}.jsonl", out / f"{name}-findings.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-m", "sandbox_gym", "audit", str(file), "--out", str(findings), "--provider", "local"]
    done = subprocess.run(command, check=False, timeout=600)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"audit ended with {done.returncode}")
    found = [json.loads(line) for line in findings.read_text().splitlines()]
    return sorted(each["row"] for each in found if each["weak"])


def rise(url: str) -> str:
    """The radar's sentence on the sign; empty where it tells of no rise."""
    found = [each["text"] for each in live(url)["radar"]["rises"] if each["kind"] == SIGN]
    return found[0] if found else ""


def main() -> int:
    """Exit code 0 where the hack was learned, told and ended."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--steps", type=int, default=STEPS)
    given.add_argument("--out", type=Path, default=Path("train-out"))
    options = given.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    policy, rows = Policy.warmed_up(options.seed, constants=0.6), [task.row(weak=True) for task in TASKS]
    with serving(options.out) as url:
        before = train(policy, rows, BEFORE, options.seed, options.out, url)
        time.sleep(60 - time.time() % 60)  # the radar counts by the minute, and a rise needs one before it
        weak = train(policy, rows, options.steps, options.seed, options.out, url)
        told = rise(url)
        print(f"\nThe radar: {told or 'no rise'}\n")
        numbers = audited(rows, options.out, "weak-rows")
        hardened = [TASKS[number].row() if number in numbers else row for number, row in enumerate(rows)]
        left = audited(hardened, options.out, "hardened-rows")
        after = train(policy, hardened, AFTER, options.seed, options.out, url)
        counts = verdict_counts(url)
    reward = before.reward + weak.reward + after.reward
    hack = before.ignores_input + weak.ignores_input + after.ignores_input
    paid = before.paid_hacks + weak.paid_hacks + after.paid_hacks
    solved = before.solved + weak.solved + after.solved
    title = f"One test a row, then hardened; seed {options.seed}"
    print(text_curve(reward, "reward"), text_curve(hack, "answers that ignore their input"), sep="\n\n")
    print(f"\n{len(numbers)} of {len(rows)} rows were weak, {len(left)} after hardening; the server: {counts}")
    series = {"reward": reward, "ignores its input": hack, "ignores it, and is paid": paid, "solves the task": solved}
    picture(series, {BEFORE + len(weak.reward) + 1: "rows hardened"}, title, options.out / f"weak-{options.seed}.svg")
    trained = {"before": asdict(before), "weak": asdict(weak), "after": asdict(after), "server": counts}
    figures({**trained, "radar": told, "audit": numbers, "left": left}, options.out / f"weak-{options.seed}.json")
    learned = sum(weak.paid_hacks[-5:]) / 5 > 0.5
    return 0 if learned and told and len(numbers) == len(rows) and not left and not any(after.paid_hacks) else 1


if __name__ == "__main__":
    sys.exit(main())
