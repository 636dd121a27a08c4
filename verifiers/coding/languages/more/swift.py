"""Swift, by Debian's toolchain."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

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
    artifact="main",
    run=("./{artifact}",),
    start_s=0.1,
    memory_extra_mb=32,
)
_UNOPTIMISED = tuple("-Onone" if part == "-O" else part for part in _SWIFT.compile)
SWIFT = replace(_SWIFT, asserting=replace(_SWIFT, compile=_UNOPTIMISED))
