"""Python as CPython runs it."""

from sandbox_gym.verifiers.coding.languages.language import Language

PYTHON = Language(
    name="python",
    aliases=("py", "python3", "cpython"),
    source="main.py",
    endings=(".py", ".py3"),
    image="python",
    toolchain="/usr/bin/python3",
    package="python3",
    version=("/usr/bin/python3", "--version"),
    run=("/usr/bin/python3", "-I", "{source}"),
    memory_signs=(b"MemoryError",),
    forks=True,
)
