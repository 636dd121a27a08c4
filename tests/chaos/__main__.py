"""The fault matrix as a table: `python -m tests.chaos --fault init --workload coding --seed 3`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType

import anyio

from tests.chaos.matrix import chosen, failures, run_cell, serving
from tests.chaos.outcomes import HEAD


async def main(options: argparse.Namespace) -> int:
    found: list[str] = []
    write = sys.stdout.write
    write(HEAD + "\n")
    with tempfile.TemporaryDirectory(prefix="sg-") as folder, serving(Path(folder)) as servers:
        for cell in chosen(options.fault, options.workload, options.provider):
            row = await run_cell(cell, servers, options.seed, options.requests)
            write("".join(f"{line}\n" for line in (row.text(), *(f"    ! {wrong}" for wrong in failures(row)))))
            sys.stdout.flush()
            found += failures(row)
        servers.close()
        found += servers.left
    write("".join(f"! left behind: {what}\n" for what in servers.left))
    return 1 if found else 0


def interrupted(number: int, frame: FrameType | None) -> None:
    """Once: mounts and groups are taken away then, too."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
parser.add_argument("--fault", action="append", default=[], help="what a fault's name begins with; may be repeated")
parser.add_argument("--workload", action="append", default=[], help="coding, math, swe, session")
parser.add_argument("--provider", action="append", default=[], help="local, docker")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--requests", type=int, default=0, help="of each cell; its workload's own number unless given")

if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("the matrix makes mounts and control groups; run it as root")
    signal.signal(signal.SIGTERM, interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(anyio.run(main, parser.parse_args()))
    sys.exit(130)
