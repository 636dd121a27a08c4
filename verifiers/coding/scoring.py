"""Scores passed tests: all or nothing, a share, or groups with points of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from sandbox_gym.contract import GroupResult
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import ROOT, choice, mapping, positive, text, wrong


@dataclass(frozen=True, slots=True)
class Group:
    """`tests` tests that follow each other; `min`: the points times the worst test's score, `avg`: times the mean."""

    name: str
    tests: int
    points: float
    aggregation: Literal["min", "avg"] = "min"


@dataclass(frozen=True, slots=True)
class Scoring:
    """`all`: 1 when every test passed, else 0; `fraction`: the mean score; `groups`: points earned of all points."""

    kind: Literal["all", "fraction", "groups"] = "all"
    groups: tuple[Group, ...] = ()

    def stops_at(self, index: int) -> bool:
        """Whether a failure of test `index` settles its group, so that the rest of the group need not run."""
        if self.kind != "groups":
            return self.kind == "all"
        for group in self.groups:
            if index < group.tests:
                return group.aggregation == "min"
            index -= group.tests
        return True

    def earned(self, scores: Sequence[float]) -> tuple[float, tuple[GroupResult, ...]]:
        """The reward for the tests' scores, in order, and the points of each group."""
        if not scores:
            return 0.0, ()
        if self.kind == "all":
            return float(all(score == 1.0 for score in scores)), ()
        if self.kind == "fraction":
            return sum(scores) / len(scores), ()
        results, start = [], 0
        for group in self.groups:
            part = scores[start : start + group.tests]
            start += group.tests
            share = min(part) if group.aggregation == "min" else sum(part) / len(part)
            results.append(GroupResult(group.name, group.points * share, group.points))
        total = sum(result.of for result in results)
        return min(1.0, sum(result.points for result in results) / total), tuple(results)


def parse_scoring(row: Mapping[str, object], tests: int) -> Scoring:
    """The row's `scoring` and `groups`. Raises RequestError."""
    groups = row.get("groups")
    if groups is None:
        kind = choice(row, "scoring", ("all", "fraction"))
        return Scoring(cast(Literal["all", "fraction"], kind))
    if row.get("scoring") not in (None, "groups"):
        raise wrong(f"{ROOT}.scoring", row.get("scoring"), "leave it out where there are groups")
    if not isinstance(groups, list) or not groups:
        raise wrong(f"{ROOT}.groups", groups, "give a list of {name, tests, points}, or leave it out")
    parsed = tuple(_group(value, f"{ROOT}.groups[{index}]") for index, value in enumerate(groups))
    counted = sum(group.tests for group in parsed)
    if counted != tests:
        raise RequestError(
            f"{ROOT}.groups", f"hold {counted} tests of {tests}", "put each test into one group, in order"
        )
    if not any(group.points for group in parsed):
        raise RequestError(f"{ROOT}.groups", "have no points", "give at least one group points")
    return Scoring("groups", parsed)


def _group(value: object, field: str) -> Group:
    spec = mapping(value, field, "give {name, tests, points}")
    tests = spec.get("tests")
    if not isinstance(tests, int) or isinstance(tests, bool) or tests < 1:
        raise wrong(f"{field}.tests", tests, "give the number of tests that follow each other")
    points = positive(spec, "points", field, zero=True)
    if points is None:
        raise RequestError(f"{field}.points", "is missing", "give the points of the group, 0 for a sample")
    aggregation = cast(Literal["min", "avg"], choice(spec, "aggregation", ("min", "avg"), field))
    return Group(text(spec, "name", field), tests, points, aggregation)
