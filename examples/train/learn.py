"""GRPO with verdicts of a real server: from a policy that solves a task in forty to one that solves nearly all.

python examples/train/learn.py [--seed 0] [--steps 150] [--out train-out]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from curves import figures, picture, text_curve
from runs import Policy, train
from serving import serving, verdict_counts
from tasks import TASKS

STEPS = 150
RATE = 6e-4
"""Of learning; over as many steps a higher one lets some policies forget what a program is."""
ENOUGH = 0.95
"""Of the reward: then the run ends. How soon it does is a matter of the processor's rounding, too."""


def main() -> int:
    """Exit code 0 where the last steps' mean reward is over 0.8."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seed", type=int, default=0)
    given.add_argument("--steps", type=int, default=STEPS)
    given.add_argument("--out", type=Path, default=Path("train-out"))
    options = given.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    policy = Policy.warmed_up(options.seed, constants=0.2)
    with serving(options.out) as url:
        found = train(
            policy, [task.row() for task in TASKS], options.steps, options.seed, options.out, url, ENOUGH, RATE
        )
        counts = verdict_counts(url)
    last = sum(found.reward[-5:]) / 5
    rate = found.verdicts / found.verifying_s
    print(text_curve(found.reward, f"reward, seed {options.seed}"))
    print(
        f"{found.verdicts} verifies at {rate:.0f} a second, {found.training_s:.0f} s in all; last five steps {last:.3f}"
    )
    print(f"the server: {counts}")
    picture({"reward": found.reward}, {}, f"GRPO, seed {options.seed}", options.out / f"learn-{options.seed}.svg")
    figures({**asdict(found), "server": counts}, options.out / f"learn-{options.seed}.json")
    return 0 if last > 0.8 else 1


if __name__ == "__main__":
    sys.exit(main())
