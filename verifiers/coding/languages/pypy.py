"""Python as PyPy runs it."""

from sandbox_gym.verifiers.coding.languages.language import Language

PYPY = Language(
    name="pypy",
    aliases=("pypy3",),
    fences=("python", "py", "python3"),
    source="main.py",
    endings=(".py", ".py3"),
    toolchain="/usr/bin/pypy3",
    package="pypy3",
    version=("/usr/bin/pypy3", "--version"),
    run=("/usr/bin/pypy3", "-I", "{source}"),
    start_s=0.2,
    memory_extra_mb=64,
    memory_signs=(b"MemoryError",),
)
