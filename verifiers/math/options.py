"""The options of a math verdict. The defaults are math_with_judge's where it has a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MathOptions:
    """`last_box`: the last box is the answer, with those that one phrase joins to it; or all of them are a list.

    `boxed_only`: where there is no box there is no answer, as in later versions of math_with_judge; else math-verify
    searches the text. `plain_answer`: where there is no box, "The answer is X", "#### X" and the like count before
    that. `drop_thinking`: what stands before the last `</think>` is no answer; `open_think_is_answer`: an unclosed
    `<think>` may hold it all the same. `multiple_choice`: the gold is a letter and the answer is read as one.
    `strict_units`: a unit that only one side has makes them differ. `relation_as_interval`: `0 < x < 1` answers the
    gold `(0,1)`. `strict_variables`: the names of variables matter. `decimal_places`: how many places a decimal must
    have to stand for a value that it rounds.
    """

    last_box: Literal["last", "all"] = "last"
    boxed_only: bool = False
    plain_answer: bool = False
    drop_thinking: bool = False
    open_think_is_answer: bool = False
    multiple_choice: bool = False
    strict_units: bool = False
    relation_as_interval: bool = True
    strict_variables: bool = True
    decimal_places: int = 6


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of one rung: whether gold and answer are equal, the rung's name, and the reason in plain English."""

    equal: bool
    rung: str
    why: str
