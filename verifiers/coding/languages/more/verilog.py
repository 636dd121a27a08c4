"""Verilog and SystemVerilog, simulated by Icarus. `$fatal` ends a simulation with a code that is not 0."""

import re
from typing import Final

from sandbox_gym.verifiers.coding.languages.language import Language

_END: Final = re.compile(
    r"""("(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z))|(\$(?:finish|stop)\b)(?!\$)(?:\s*\(\s*(?:[12]\s*)?\))?(?!\s*\()""",
    re.DOTALL,
)


def _without_a_word(code: str) -> str:
    """`$finish` has its simulator write a line of its own to the program's output, and `$finish(0)` does not."""
    return _END.sub(lambda found: found[1] or f"{found[2]}(0)", code)


VERILOG = Language(
    name="verilog",
    aliases=("systemverilog", "iverilog"),
    fences=("v", "sv"),
    source="main.v",
    endings=(".v", ".sv"),
    toolchain="/usr/bin/iverilog",
    package="iverilog",
    image="polyglot-more",
    several="named",
    whole=_without_a_word,
    version=("/usr/bin/iverilog", "-V"),
    compile=("/usr/bin/iverilog", "-g2012", "-o", "{artifact}", "{source}"),
    artifact="main.vvp",
    run=("/usr/bin/vvp", "-n", "{artifact}"),
    memory_signs=(b"std::bad_alloc",),
)
