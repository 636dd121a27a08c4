"""D, by LDC; and with its `unittest` blocks, which are then what the program runs before `main`, if it has one."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

D = Language(
    name="d",
    aliases=("dlang", "ldc"),
    source="main.d",
    toolchain="/usr/bin/ldc2",
    package="ldc",
    image="polyglot-more",
    several="named",
    version=("/usr/bin/ldc2", "--version"),
    compile=("/usr/bin/ldc2", "-O2", "-of={artifact}", "{source}"),
    artifact="main",
    run=("./{artifact}",),
    memory_signs=(b"core.exception.OutOfMemoryError", b"Memory allocation failed"),
)
D_UNITTEST = replace(
    D,
    name="d_ut",
    aliases=("d_unittest",),
    fences=("d", "dlang"),
    compile=("/usr/bin/ldc2", "-g", "-unittest", "--main", "-of={artifact}", "{source}"),
)
