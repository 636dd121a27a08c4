"""Bash scripts, with the tools that they call: bc, gawk, jq, xxd, column, hexdump."""

from sandbox_gym.verifiers.coding.languages.language import Language

BASH = Language(
    name="bash",
    aliases=("sh", "shell"),
    fences=("zsh",),
    source="main.sh",
    toolchain="/bin/bash",
    package="bash bc bsdextrautils gawk jq xxd",
    version=("/bin/bash", "--version"),
    run=("/bin/bash", "{source}"),
    memory_signs=(b"cannot allocate", b"xrealloc", b"xmalloc"),
)
