"""Haskell, by GHC with the packages that come with it (containers, bytestring, mtl, text, array, ...)."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

_HASKELL = Language(
    name="haskell",
    aliases=("hs", "ghc"),
    source="Main.hs",
    toolchain="/usr/bin/ghc",
    package="ghc",
    image="polyglot-more",
    version=("/usr/bin/ghc", "--version"),
    compile=("/usr/bin/ghc", "-O2", "-w", "-v0", "-rtsopts=ignore", "-o", "{artifact}", "{source}"),
    artifact="main",
    run=("./{artifact}",),
    memory_extra_mb=16,
    memory_signs=(b"heap exhausted", b"out of memory", b"getMBlocks"),
)
HASKELL = replace(
    _HASKELL, asserting=replace(_HASKELL, compile=(_HASKELL.compile[0], "-fno-ignore-asserts", *_HASKELL.compile[1:]))
)
