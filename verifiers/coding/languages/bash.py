"""Bash scripts."""

from sandbox_gym.verifiers.coding.languages.language import Language

BASH = Language(
    name="bash",
    aliases=("sh", "shell"),
    fences=("zsh",),
    source="main.sh",
    toolchain="/bin/bash",
    package="bash bc jq",
    version=("/bin/bash", "--version"),
    run=("/bin/bash", "{source}"),
    memory_signs=(b"cannot allocate", b"xrealloc", b"xmalloc"),
)
