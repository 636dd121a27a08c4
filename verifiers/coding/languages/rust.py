"""Rust, by Debian's compiler, with its standard library alone."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

_RUST = Language(
    name="rust",
    aliases=("rs",),
    source="main.rs",
    toolchain="/usr/bin/rustc",
    package="rustc",
    version=("/usr/bin/rustc", "--version"),
    compile=(
        *("/usr/bin/rustc", "--edition=2021", "-Copt-level=2", "-Cstrip=symbols", "-Awarnings"),
        *("--crate-name=main", "-o", "{artifact}", "{source}"),
    ),
    artifact="main",
    run=("./{artifact}",),
    memory_signs=(b"memory allocation of ",),
)
RUST = replace(_RUST, asserting=replace(_RUST, compile=(*_RUST.compile, "-Cdebug-assertions=on")))
