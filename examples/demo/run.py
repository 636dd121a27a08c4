"""`make demo`: eight answers, verified in sandboxes and by a naive in-process grader, side by side.

Exits with 1 where a row is not judged as its fields `here` and `naive` say.
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

LEGEND = """1          every test passed
0          the answer's own fault: wrong, too slow, too large, or an attempt to cheat; it counts
no verdict what the answer is worth is unknown; the sample is masked and must not be trained on
no end     the grader itself had to be killed
[red]1[/]          the naive grader pays for an answer that solves nothing
"""
FOLDER = Path(__file__).parent
ROWS = FOLDER / "rows.jsonl"
OUT = Path("demo-verdicts.jsonl")
NAIVE_S = 3
NAIVE_BYTES = 1 << 29


def main() -> int:
    """Both graders over all rows, one line for each."""
    rows = [json.loads(line) for line in ROWS.read_text().splitlines()]
    verdicts = verified()
    table = Table("the answer", "here", "why", "naive grader", title="reward of each answer")
    wrong = 0
    for row, response in zip(rows, verdicts, strict=True):
        here, naive = reward(response), naively(row)
        wrong += (here, naive) != (row["here"], row["naive"])
        paid = naive == "1" and here == "0"
        table.add_row(row["shows"], colour(here), reason(response), f"[red]{naive}[/]" if paid else naive)
    console = Console()
    console.print(table)
    console.print(LEGEND, highlight=False)
    console.print(f"{OUT} has the whole verdicts: each test's status, cost and evidence.")
    if wrong:
        console.print(f"[red]{wrong} rows were not judged as {ROWS.name} expects.[/]")
    return 1 if wrong else 0


def verified() -> list[dict[str, object]]:
    """The rows' verify responses, in the rows' order; the command writes them as they come."""
    command = [sys.executable, "-m", "sandbox_gym", "verify", str(ROWS), "--provider", "local"]
    command += ["--out", str(OUT), "--overwrite", "--all-tests", "--json"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 1):  # 1: a row without a verdict, as one here is meant to be
        sys.exit(done.returncode)
    return sorted((json.loads(line) for line in OUT.read_text().splitlines()), key=lambda one: one["row"])


def reward(response: dict[str, object]) -> str:
    """As a trainer should read it."""
    return "no verdict" if response["mask_sample"] else f"{response['reward']:g}"


def reason(response: dict[str, object]) -> str:
    """What the verdict says of it."""
    return str(response.get("failure_reason") or response.get("failure_kind") or "every test passed")


def naively(row: dict[str, object]) -> str:
    """The naive grader's reward, in a process of its own, which is all that protects this one."""
    command = [sys.executable, str(FOLDER / "naive_grader.py")]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(row),
            text=True,
            capture_output=True,
            timeout=NAIVE_S,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (NAIVE_BYTES, NAIVE_BYTES)),
        )
    except subprocess.TimeoutExpired:
        return "no end"
    return "1" if done.returncode == 0 else "0"


def colour(here: str) -> str:
    """For a terminal."""
    return f"[{ {'1': 'green', '0': 'yellow'}.get(here, 'cyan') }]{here}[/]"


if __name__ == "__main__":
    sys.exit(main())
