"""Units with prefixes, ohms and micro in LaTeX, hours of the day, answers between tags."""

from __future__ import annotations

import pytest

from sandbox_gym.verifiers.math.options import MathOptions
from tests.math.library import judged

PREFIXES = {"G": ("giga", 9), "M": ("mega", 6), "k": ("kilo", 3), "m": ("milli", -3), "n": ("nano", -9)}
UNITS = {"W": "watts", "V": "volts", "Pa": "pascals", "Hz": "hertz", "J": "joules", "N": "newtons", "T": "teslas"}


def equal(gold: str, answer: str) -> bool:
    return judged(gold, f"So it is $\\boxed{{{answer}}}$.", MathOptions()).equal


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("unit", UNITS)
def test_a_prefix_is_a_power_of_ten(prefix: str, unit: str) -> None:
    name, tens = PREFIXES[prefix]
    gold = f"2.5\\text{{ {prefix}{unit}}}"
    same = (
        f"2.5 \\times 10^{{{tens}}}\\text{{ {unit}}}",
        f"2.5\\times 10^{{{tens}}} {unit}",
        f"2.5\\text{{ {name}{UNITS[unit]}}}",
        "2.5",
    )
    for answer in same:
        assert equal(gold, answer), answer
    for answer in (f"2.5 \\times 10^{{{tens + 1}}}\\text{{ {unit}}}", f"2.5\\text{{ {unit}}}", "2.5\\text{ kg}"):
        assert not equal(gold, answer), answer


@pytest.mark.parametrize(
    ("gold", "right", "wrong"),
    [
        (r"10\,\Omega", ("10 ohms", r"10\text{ ohm}", "10Ω", r"0.01\,\text{k}\Omega"), (r"10\text{ k}\Omega", "10 V")),
        (r"5\ \mu\text{F}", (r"5\times10^{-6}\text{ farads}", "5 μF"), (r"5\text{ nF}", r"5\ \mu\text{C}")),
        (r"3\ \mu s", (r"3\text{ microseconds}", r"3\times 10^{-6}\text{ s}"), (r"3\text{ ms}",)),
        ("100 nm", ("10^{-7} m", r"10^{-7}\text{ m}"), ("10^{-8} m",)),
        ("7 pm", ("7 PM", "7:00 p.m.", r"7\text{ pm}"), ("7 am", "7:00 AM", "8 pm")),
        ("7", ("7 pm", "7:00 PM"), ("8 pm",)),
        (r"\epsilon_0 E", (r"\varepsilon_0 E", "ε_0 E"), (r"\epsilon_1 E",)),
        (r"\varphi+1", (r"\phi+1",), (r"\phi",)),
        ("f(x)=2x", (r"2x\text{ for all }x", r"f(x)=2x\text{ for all real }x"), (r"2x\text{ for }x>0",)),
        ("m=n", ("n=m",), ("m=2n",)),
        (r"\text{B. }\frac12", (r"\frac12", "B", "0.5"), (r"\text{C. }\frac12", "C", r"\frac13")),
    ],
)  # fmt: skip
def test_spellings_of_one_quantity(gold: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    assert [answer for answer in right if not equal(gold, answer)] == []
    assert [answer for answer in wrong if equal(gold, answer)] == []


def test_between_the_last_tags_is_the_answer() -> None:
    for options in (MathOptions(), MathOptions(plain_answer=True)):
        for text in (
            "<answer>42</answer>",
            "I try 41.\n<answer>\n42\n</answer>",
            "<answer>41</answer> No: <answer>42</answer>",
        ):
            assert judged("42", text, options).equal, text
            assert not judged("41", text, options).equal, text
        assert judged("42", "<answer>41</answer> \\boxed{42}", options).equal
