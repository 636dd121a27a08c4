"""C, by GCC. From version 14 on it takes what it only warned of before (`main()`, an undeclared `strlen`) on demand."""

from sandbox_gym.verifiers.coding.languages.language import Language


def _tries(source: bytes) -> tuple[tuple[str, ...], ...]:
    """By the next standard, where `bool` and `nullptr` need no header."""
    return (("error: ", "-std=gnu2x"),)


C = Language(
    name="c",
    aliases=("c99", "c11", "c17", "gcc"),
    fences=("cpp", "c++"),
    source="main.c",
    toolchain="/usr/bin/gcc",
    package="gcc libc6-dev",
    version=("/usr/bin/gcc", "--version"),
    compile=("/usr/bin/gcc", "-std=gnu17", "-O2", "-pipe", "-w", "-fpermissive", "-o", "{artifact}", "{source}", "-lm"),
    artifact="main",
    several="listed",
    tries=_tries,
    run=("./{artifact}",),
)
