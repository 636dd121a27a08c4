"""Verdicts beside plain CPython: `python -m tests.honest.report [--provider NAME] [--generated N] [WORD...]`.

Runs the hand-written rows and N generated ones, of each those whose names hold one of the words (all without words),
and prints how many verdicts are equal, which differ, and how many ran isolated or in one process, by reason. `--oracle`
asks plain CPython too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import get_args

import anyio

from tests.honest import oracle
from tests.honest.generate import generated_rows
from tests.honest.judging import Judged, Provider, differing, judge_all, opened
from tests.honest.row import Case, Row, written_rows


def main() -> int:
    options = _options()
    rows = _chosen(written_rows(), options.words) + _chosen(generated_rows(options.generated), options.words)
    cases = [case for row in rows for case in row.cases()]
    if options.oracle:
        _say(_oracle_report(cases))
    began = time.monotonic()
    judged = anyio.run(_judge, options.provider, cases)
    _say(_verdict_report(judged))
    _say(f"{len(rows)} rows, {len(cases)} verdicts on {options.provider} in {time.monotonic() - began:.0f} s")
    return 0 if all(one.equal for one in judged) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.honest.report")
    parser.add_argument("--provider", choices=get_args(Provider), default="local")
    parser.add_argument("--generated", type=int, default=0, metavar="N")
    parser.add_argument("--oracle", action="store_true")
    parser.add_argument("words", nargs="*")
    return parser.parse_args()


def _chosen(rows: Sequence[Row], words: Sequence[str]) -> list[Row]:
    return [row for row in rows if not words or any(word in row.name for word in words)]


async def _judge(provider: Provider, cases: Sequence[Case]) -> list[Judged]:
    async with opened(provider) as engine:
        return await judge_all(engine, cases)


def _oracle_report(cases: Sequence[Case]) -> str:
    said = zip(cases, oracle.ask(cases), strict=True)
    wrong = [f"  {case.name}: {found.words[-300:]}" for case, found in said if found.passed != case.passes]
    return "\n".join([f"plain CPython: {len(cases) - len(wrong)} as the rows say, {len(wrong)} not", *wrong])


def _verdict_report(judged: Sequence[Judged]) -> str:
    lines = ["differing:", *(f"  {line}" for line in differing(judged)), "tiers:"]
    for tier, count in Counter(one.tier for one in judged).most_common():
        lines.append(f"  {count:5d}  {tier}")
    unfair = sum(not one.equal and one.case.passes for one in judged)
    paid = sum(not one.equal and not one.case.passes for one in judged)
    equal = len(judged) - unfair - paid
    lines.append(f"equal {equal}, differing {unfair + paid}: {unfair} right answers denied, {paid} wrong answers paid")
    rows = {one.case.row.name for one in judged}
    bad = {one.case.row.name for one in judged if not one.equal}
    lines.append(f"rows with every verdict equal: {len(rows - bad)} of {len(rows)}")
    return "\n".join(lines)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
