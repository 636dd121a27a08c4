"""GSM8K's final answers, each in five ways of writing it, and wrong numbers beside them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

FORMS = ("boxed", "commas", "decimals", "units", "words")


@dataclass(frozen=True, slots=True)
class Problem:
    """`gold` as the data set writes it, `number` without its commas."""

    gold: str
    number: str


def load(folder: Path) -> list[Problem]:
    with gzip.open(folder / "gsm8k_test.jsonl.gz", "rt", encoding="utf-8") as file:
        golds = [json.loads(line)["answer"].rpartition("####")[2].strip() for line in file]
    return [Problem(gold, gold.replace(",", "")) for gold in golds]


def written(number: str, form: str, index: int) -> str:
    """A response that gives the number; `index` varies what stands around it."""
    whole, point, places = number.partition(".")
    commas = f"{int(whole):,}" + point + places
    if form == "boxed":
        return f"So we get \\boxed{{{number}}}."
    if form == "commas":
        return f"Altogether \\(\\boxed{{{commas.replace(',', '{,}') if index % 2 else commas}}}\\)"
    if form == "decimals":
        return f"\\boxed{{{number if point else number + '.' + '0' * (1 + index % 3)}}}"
    if form == "units":
        units = ("\\text{ cm}", " dollars", "\\text{ apples}", "\\%", "^\\circ", "\\text{ miles per hour}")
        return f"\\boxed{{\\${commas}}}" if index % 7 == 6 else f"\\boxed{{{number}{units[index % 7]}}}"
    lines = (f"Thus the final answer is {commas}.", f"#### {number}", f"**Final Answer:** **{commas}**",
             f"She ends with it all.\nAnswer: ${number}$")  # fmt: skip
    return lines[index % 4]


def perturbed(number: str, index: int) -> str:
    """Another number: one more, one less, ten times, a digit more, the sign turned."""
    value = float(number) if "." in number else int(number)
    others = (value + 1, value - 1, value * 10 if value else 7, f"{number}1", -value if value else 3)
    return str(others[index % 5])
