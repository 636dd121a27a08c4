"""Random functions, expressions and equations with their spellings, equal or not by how they are made."""

from __future__ import annotations

import math
from random import Random

from tests.math.random_values import Made, Maker, either

_ANGLES = {
    ("sin", "pi/6"): "1/2",
    ("cos", "pi/3"): "1/2",
    ("tan", "pi/4"): "1",
    ("sin", "pi/3"): "sqrt(3)/2",
    ("cos", "pi"): "-1",
    ("sin", "pi/2"): "1",
    ("cos", "pi/4"): "sqrt(2)/2",
    ("tan", "pi/3"): "sqrt(3)",
    ("cos", "2pi/3"): "-1/2",
    ("sin", "0"): "0",
    ("arctan", "1"): "pi/4",
    ("arcsin", "1"): "pi/2",
    ("ln", "1"): "0",
    ("exp", "0"): "1",
}
_IN_LATEX = {
    "1/2": "\\frac12",
    "sqrt(3)/2": "\\frac{\\sqrt{3}}{2}",
    "sqrt(2)/2": "\\frac{\\sqrt2}{2}",
    "sqrt(3)": "\\sqrt{3}",
    "pi/4": "\\frac{\\pi}{4}",
    "pi/2": "\\frac{\\pi}{2}",
    "-1/2": "-\\frac{1}{2}",
}


def special_value(rng: Random) -> Made:
    (name, argument), value = rng.choice(list(_ANGLES.items()))
    latex = argument.replace("pi", "\\pi")
    calls = [
        f"{name}({argument})",
        f"\\{name}({latex})",
        f"\\operatorname{{{name}}}({latex})",
        f"\\{name}\\left({latex}\\right)",
        f"\\mathrm{{{name}}}({latex})",
        f"1*{name}({argument})",
    ]
    values = [value, _IN_LATEX.get(value, value)]
    others = [each for each in _ANGLES.values() if each != value]
    if rng.random() < 0.5:
        return rng.choice(values), rng.choice(calls), True
    wrong = rng.choice(others)
    return _IN_LATEX.get(wrong, wrong), rng.choice(calls), False


def integer_function(rng: Random) -> Made:
    a, b = rng.randint(4, 60), rng.randint(4, 60)
    n, k = rng.randint(4, 8), rng.randint(2, 3)
    x = rng.randint(11, 99)
    name, arguments, value = rng.choice(
        [
            ("gcd", f"{a},{b}", math.gcd(a, b)),
            ("lcm", f"{a}, {b}", math.lcm(a, b)),
            ("max", f"{a},{b}", max(a, b)),
            ("min", f"{a}, {b}", min(a, b)),
            ("floor", f"{x / 10:.1f}", x // 10),
            ("ceil", f"{x / 10:.1f}", -(-x // 10)),
            ("abs", f"-{a}", a),
            ("factorial", f"{n}", math.factorial(n)),
            ("binom", f"{n},{k}", math.comb(n, k)),
        ]
    )
    calls = [f"{name}({arguments})", f"{name}( {arguments} )"]
    if name in ("gcd", "lcm", "max", "min", "floor", "ceil"):
        calls += [
            f"\\operatorname{{{name}}}({arguments})",
            f"\\mathrm{{{name}}}({arguments})",
            f"\\operatorname{{{name}}}\\left({arguments}\\right)",
        ]
    latex = {
        "abs": f"\\left|{arguments}\\right|",
        "factorial": f"{n}!",
        "binom": f"\\binom{{{n}}}{{{k}}}",
        "floor": f"\\lfloor {arguments} \\rfloor",
        "ceil": f"\\left\\lceil {arguments} \\right\\rceil",
    }
    calls.append(latex.get(name, f"\\{name}({arguments})") if name != "ceil" else latex["ceil"])
    gold, answer, equal = either(rng, [str(value)], [str(value + 1), f"{value}.5", f"-{value}"])
    number, call = gold if equal else answer, rng.choice(calls)
    evaluated = name in ("gcd", "lcm", "max", "min")  # as an answer, those give the problem back
    return (call, number, equal) if evaluated else (number, call, equal)


_IDENTITIES = [
    (["\\sin(2x)", "sin(2x)", "\\operatorname{sin}(2x)"], ["2\\sin x\\cos x", "2*sin(x)*cos(x)", "2 sin(x) cos(x)"]),
    (["\\cos(2x)", "cos(2x)", "cos(2*x)"], ["1-2\\sin^2 x", "2cos(x)^2-1", "\\cos^2(x)-\\sin^2(x)"]),
    (["\\tan x", "tan(x)", "\\operatorname{tg} x"], ["\\frac{\\sin x}{\\cos x}", "sin(x)/cos(x)"]),
    (["\\sin^2 x", "sin(x)^2", "(sin(x))^2"], ["1-\\cos^2 x", "1 - cos(x)^2"]),
    (["e^{2x}", "exp(2x)", "exp(2*x)"], ["(e^x)^2", "exp(x)^2", "e^{x}e^{x}"]),
    (["\\sqrt{x^2+1}", "sqrt(x^2+1)", "(x^2+1)^{1/2}"], ["\\sqrt{1+x^2}", "sqrt(1 + x**2)"]),
    (["|x-2|", "abs(x-2)", "\\left|x-2\\right|"], ["|2-x|", "abs(2-x)"]),
    (["\\frac{\\ln 2}{3}", "ln(2)/3", "\\ln 2/3"], ["\\frac13\\ln 2", "(1/3)ln(2)"]),
    (["\\ln 8", "ln(8)", "\\operatorname{ln}(8)"], ["3\\ln 2", "3*ln(2)"]),
    (["\\operatorname{arsinh}(x)", "asinh(x)", "arcsinh(x)"], ["\\sinh^{-1}(x)", "\\operatorname{arcsinh}(x)"]),
    (["\\arctan x", "arctan(x)", "atan(x)"], ["\\tan^{-1} x", "\\operatorname{arctg}(x)"]),
]


def identity(rng: Random) -> Made:
    (first, second), (third, fourth) = rng.sample(_IDENTITIES, 2)
    k = rng.randint(2, 9)
    gold, answer, equal = either(rng, [*first, *second], [*third, *fourth])
    if "ln" in gold + answer or rng.random() < 0.5:
        return gold, answer, equal
    scaled = rng.choice([k, k + 1])
    wrong = not equal or scaled != k
    return f"{k}\\left({gold}\\right)", f"{scaled}({answer})", not wrong


def polynomial(rng: Random) -> Made:
    a, b, c = rng.randint(-9, 9), rng.randint(1, 9), rng.randint(2, 5)
    x = rng.choice("xyntk")

    def written(a: int, b: int, c: int) -> list[str]:
        middle, last = c * (a + b), c * a * b
        terms = [f"{c}{x}^2", f"{middle:+d}{x}" if middle else "", f"{last:+d}" if last else ""]
        expanded = "".join(terms)
        plain = "".join([f"{c}*{x}**2", f"{middle:+d}*{x}" if middle else "", f"{last:+d}" if last else ""])
        return [
            expanded,
            plain,
            expanded.replace("^2", "^{2}"),
            f"{c}({x}{a:+d})({x}{b:+d})",
            f"{c}*({x}{a:+d})*({x}{b:+d})",
            f"({c}{x}{c * a:+d})({x}{b:+d})",
        ]

    other = [*written(a, b + 1, c), *written(a, b, c + 1), *written(a, b, c)[0:1]]
    gold, answer, equal = either(rng, written(a, b, c), other[:-1])
    if not equal and rng.random() < 0.3:
        answer = rng.choice(written(a, b, c)).replace(x, "z")
    return gold, answer, equal


def quotient(rng: Random) -> Made:
    a, b = rng.sample(range(1, 12), 2)
    same = [
        f"\\frac{{x+{a}}}{{x-{b}}}",
        f"(x+{a})/(x-{b})",
        f"\\dfrac{{{a}+x}}{{x-{b}}}",
        f"\\frac{{2x+{2 * a}}}{{2x-{2 * b}}}",
        f"\\frac{{-x-{a}}}{{{b}-x}}",
    ]
    other = [
        f"\\frac{{x+{b}}}{{x-{a}}}",
        f"(x-{a})/(x-{b})",
        f"x+{a}/(x-{b})",
        f"\\frac{{x-{b}}}{{x+{a}}}",
        f"\\frac{{x+{a}}}{{x+{b}}}",
    ]
    return either(rng, same, other)


def equation(rng: Random) -> Made:
    a, b, c = rng.randint(2, 9), rng.randint(1, 9), rng.randint(10, 20)
    if rng.random() < 0.5:
        same = [f"y = {a}x + {b}", f"y={b}+{a}x", f"y = {a}*x+{b}", f"y=\\frac{{{2 * a}x+{2 * b}}}{{2}}"]
        other = [f"y = {a}x - {b}", f"y={a + 1}x+{b}", f"y={b}x+{a}" if a != b else f"y={a}x", f"y={a}x^2+{b}"]
        return either(rng, same, other)
    same = [
        f"{a}x+{b}y={c}",
        f"{b}y+{a}x={c}",
        f"{a}x+{b}y-{c}=0",
        f"{2 * a}x+{2 * b}y={2 * c}",
        f"{a}*x + {b}*y = {c}",
    ]
    other = [f"{a}x+{b}y={c + 1}", f"{a}x-{b}y={c}", f"{a + 1}x+{b}y={c}", f"{a}x+{b}y+{c}=0", f"{a}x+{b}y<{c}"]
    return either(rng, same, other)


def tiny(rng: Random) -> Made:
    """Differences that vanish in six decimals."""
    name, n, power = rng.choice(["\\sin", "\\ln", "\\cos"]), rng.randint(2, 9), rng.randint(8, 40)
    plain = name.removeprefix("\\")
    same = [f"\\frac{{{name} {n}}}{{10^{{{power}}}}}", f"{plain}({n})/10^{power}", f"{name}({n})\\cdot 10^{{-{power}}}"]
    other = [
        f"\\frac{{{name} {n + 1}}}{{10^{{{power}}}}}",
        f"{plain}({n})/10^{power + 1}",
        "0",
        f"2{name}({n})\\cdot 10^{{-{power}}}",
    ]
    return either(rng, same, other)


def unit_of_function(rng: Random) -> Made:
    """Kinds around numbers that only the library can read."""
    plain, latex = rng.choice(
        [("sin(1)", "\\sin(1)"), ("ln(2)", "\\ln 2"), ("log_2(5)", "\\log_2 5"), ("atan(3)", "\\arctan(3)")]
    )
    unit, another = rng.sample(["cm", "m", "kg", "hours", "dollars"], 2)
    same = [f"{latex}\\text{{ {unit}}}", f"{plain} \\text{{ {unit}}}", f"{plain}\\,\\mathrm{{{unit}}}"]
    other = [
        f"{latex}\\text{{ {another}}}",
        f"{plain}\\%",
        f"{plain} \\text{{ {another}}}",
        f"{latex}^\\circ",
        f"2{latex}",
    ]
    gold, answer, equal = either(rng, same, other)
    return gold, rng.choice([*same, latex, plain]) if equal else answer, equal


FUNCTIONS: dict[str, Maker] = {
    "special value": special_value,
    "integer function": integer_function,
    "identity": identity,
    "polynomial": polynomial,
    "quotient": quotient,
    "equation": equation,
    "tiny": tiny,
    "unit of a function": unit_of_function,
}
