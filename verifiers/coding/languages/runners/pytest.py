"""Python's tests, by pytest: the source is a test file."""

from sandbox_gym.verifiers.coding.languages.language import Language

PYTEST = Language(
    name="pytest",
    aliases=(),
    fences=("python", "py", "python3"),
    source="test_main.py",
    toolchain="/usr/bin/pytest-3",
    package="python3-pytest",
    image="python",
    version=("/usr/bin/python3", "-m", "pytest", "--version"),
    run=("/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider", "{source}"),
    start_s=0.6,
    memory_extra_mb=64,
    memory_signs=(b"MemoryError",),
)
