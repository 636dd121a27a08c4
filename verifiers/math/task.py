"""A math row, checked field by field: NeMo Gym's math_with_judge and math_with_code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from sandbox_gym.errors import RequestError, wrong
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.math.options import MathOptions
from sandbox_gym.verifiers.wellformed import must_be_text

MAX_TEXT = 1 << 20
OPTIONS = "math_options"


@dataclass(frozen=True, slots=True)
class MathTask:
    """The expected answer and how it is compared. `limits`: of one question to math-verify."""

    expected_answer: str
    question: str = ""
    options: MathOptions = field(default_factory=MathOptions)
    limits: Limits = field(default_factory=lambda: Limits(cpu_time_s=2.0, wall_time_s=5.0))
    worker_memory_bytes: int = 1024 << 20
    relative_tolerance: float = 0.0
    """Numbers that differ by less, of the larger of 1 and the expected one, are equal: math_with_code's 1e-6."""


def parse_task(row: Mapping[str, object], base: MathTask, *, gold_field: str = "expected_answer") -> MathTask:
    """The row's task; missing fields come from `base`. Raises RequestError naming the field."""
    for name in (gold_field, "question", OPTIONS):
        must_be_text(row.get(name), name)
    gold = row.get(gold_field)
    if isinstance(gold, int | float) and not isinstance(gold, bool):
        gold = repr(gold)
    if not isinstance(gold, str):
        remedy = "give the expected answer as a string"
        raise RequestError(gold_field, "is missing", remedy) if gold is None else wrong(gold_field, gold, remedy)
    if not gold.strip():
        raise RequestError(gold_field, "is blank", "give the expected answer; a blank one proves nothing")
    if len(gold) > MAX_TEXT:
        raise RequestError(gold_field, f"has {len(gold)} characters", f"use at most {MAX_TEXT}")
    question = row.get("question")
    if question is not None and not isinstance(question, str):
        raise wrong("question", question, "give a string, or leave it out")
    return replace(
        base, expected_answer=gold, question=question or "", options=_options(row.get(OPTIONS), base.options)
    )


def _options(value: object, base: MathOptions) -> MathOptions:
    if value is None:
        return base
    if not isinstance(value, Mapping):
        raise wrong(OPTIONS, value, "give an object of options, or leave it out")
    known = {each.name: getattr(base, each.name) for each in fields(MathOptions)}
    for name, given in value.items():
        if name not in known:
            raise RequestError(f"{OPTIONS}.{name}", "is no option", f"use {', '.join(known)}")
        if type(given) is not type(known[name]) or (name == "last_box" and given not in ("last", "all")):
            wanted = {str: "last or all", bool: "true or false", int: "an integer"}[type(known[name])]
            raise wrong(f"{OPTIONS}.{name}", given, f"give {wanted}")
        if name == "decimal_places" and not 0 <= given <= 15:
            raise RequestError(f"{OPTIONS}.{name}", f"is {given}", "give 0 to 15")
    return replace(base, **dict(value))
