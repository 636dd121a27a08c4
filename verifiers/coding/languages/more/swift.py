"""Swift, by Debian's toolchain."""

import re
from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.language import Language

_MAIN_TYPE: Final = re.compile(rb"^[ \t]*@main\b", re.MULTILINE)


def _options(source: bytes) -> tuple[str, ...]:
    """A file named main.swift is a script, in which no type may be marked as the program's begin."""
    return ("-parse-as-library",) if _MAIN_TYPE.search(source) else ()


_SWIFT = Language(
    name="swift",
    aliases=("swiftlang",),
    source="main.swift",
    toolchain="/usr/bin/swiftc",
    package="swiftlang",
    image="polyglot-more",
    several="named",
    version=("/usr/bin/swiftc", "--version"),
    compile=(
        "/usr/bin/swiftc",
        "-O",
        "-suppress-warnings",
        "-module-cache-path",
        "/tmp",
        "-o",
        "{artifact}",
        "{source}",
    ),
    compile_options=_options,
    artifact="main",
    run=("./{artifact}",),
    start_s=0.1,
    memory_extra_mb=32,
)
_UNOPTIMISED = tuple("-Onone" if part == "-O" else part for part in _SWIFT.compile)
SWIFT = replace(_SWIFT, asserting=replace(_SWIFT, compile=_UNOPTIMISED))
