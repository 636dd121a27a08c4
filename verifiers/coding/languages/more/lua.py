"""Lua 5.4."""

from sandbox_gym.verifiers.coding.languages.language import Language

LUA = Language(
    name="lua",
    aliases=("lua5.4",),
    source="main.lua",
    toolchain="/usr/bin/lua5.4",
    package="lua5.4",
    image="polyglot-more",
    version=("/usr/bin/lua5.4", "-v"),
    run=("/usr/bin/lua5.4", "{source}"),
    memory_signs=(b"not enough memory",),
)
