"""Haskell, by GHC with the packages that come with it (containers, bytestring, mtl, text, array, ...) and those that
programs import most beside them (vector, split, unordered-containers, random)."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

_HASKELL = Language(
    name="haskell",
    aliases=("hs", "ghc"),
    source="Main.hs",
    toolchain="/usr/bin/ghc",
    package="ghc libghc-random-dev libghc-split-dev libghc-unordered-containers-dev libghc-vector-dev",
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
