"""Names of functions in plain text, in `\\operatorname{...}` and in other countries' spelling, as LaTeX commands.

`cos(pi/3)` read letter by letter would be c·o·s·…; here a name with an argument becomes a command. Text inside the
marks around words stays unchanged.
"""

from __future__ import annotations

import re

_TRIGONOMETRIC = "sin cos tan cot csc tg ctg cotg cosec arcsin arccos arctan arccot arcsec arccsc arctg arcctg"
_OTHERS = "ln log lg asin acos atan acot"
_HYPERBOLIC = "sinh cosh tanh coth sech csch arsinh arcosh artanh arcsinh arccosh arctanh asinh acosh atanh"
_CLEAR = frozenset(f"{_TRIGONOMETRIC} {_OTHERS} {_HYPERBOLIC}".split(" "))
_WITH_BRACKET = "sec exp abs sqrt cbrt floor ceil ceiling gcd lcm min max factorial binom binomial"
_CALLED = frozenset(_WITH_BRACKET.split(" "))
"""These are functions only with a bracket behind them: `5 sec` and `10 min` are times."""
_ALIASES = {
    "tg": "tan", "ctg": "cot", "cotg": "cot", "cosec": "csc", "arctg": "arctan", "arcctg": "arccot",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "acot": "arccot",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "arsinh": "arcsinh", "arcosh": "arccosh", "artanh": "arctanh",
    "lg": "log_{10}", "ceiling": "ceil", "binomial": "binom",
}  # fmt: skip
_LONGEST_FIRST = sorted(_CLEAR, key=len, reverse=True)
_ARGUMENT = r"(?=\s*(?:[({\[|\\^_0-9√π]|[A-Za-z](?![A-Za-z])))"
_PLAIN = re.compile(
    rf"‹[^‹›]*›|(?<![A-Za-z\\])(?:({'|'.join(_LONGEST_FIRST)}){_ARGUMENT}"
    rf"|({'|'.join(sorted(_CALLED, key=len, reverse=True))})(?=(?:\^\{{?[0-9]\}}?)? ?\()"
    r"|(sin|cos|tan|ln|log)(?=[xyz](?![A-Za-z])))"
)
_FACTOR = re.compile(r"(?<![A-Za-z\\])([b-z])(?=(?:sin|cos|tan|cot|sec|csc|ln|log|exp|sqrt)\()")
_COMMAND = re.compile(rf"\\({'|'.join(sorted(_ALIASES, key=len, reverse=True))})(?![A-Za-z])")
_STARTS_ARGUMENT = re.compile(rf"(?:\^|_)?{_ARGUMENT}")


def with_commands(text: str) -> str:
    """The text with every function's plain name, and every alias, as the command that it stands for."""
    return _COMMAND.sub(_alias, _PLAIN.sub(_plain, _FACTOR.sub(r"\1 ", text)))


def operator(name: str, rest: str, words: bool) -> str | None:
    """The command for a name in a text command (`words`: an ordinary one, not `\\operatorname`) before `rest`, or
    None where it is no known function or has no argument."""
    name = name.strip()
    if name not in _CLEAR and name not in _CALLED:
        return None
    called = rest.lstrip()[:1] == "(" or rest.lstrip().startswith("\\left(")
    if name in _CALLED and words and not called:
        return None
    return f"\\{name} " if called or _STARTS_ARGUMENT.match(rest) else None


def _plain(found: re.Match[str]) -> str:
    name = found[1] or found[2] or found[3]
    return f"\\{name} " if name else found.group()


def _alias(found: re.Match[str]) -> str:
    return f"\\{_ALIASES[found[1]]}"
