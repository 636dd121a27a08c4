"""Racket, as a module: a source without `#lang` is one in `racket`."""

from sandbox_gym.verifiers.coding.languages.language import Language


def _as_module(code: str) -> str:
    return code if "#lang" in code or code.lstrip().startswith("(module") else f"#lang racket\n{code}"


RACKET = Language(
    name="racket",
    aliases=("rkt", "scheme"),
    source="main.rkt",
    toolchain="/usr/bin/racket",
    package="racket",
    image="polyglot-more",
    version=("/usr/bin/racket", "--version"),
    run=("/usr/bin/racket", "{source}"),
    whole=_as_module,
    time_factor=1.5,
    start_s=1.0,
    memory_extra_mb=160,
    memory_signs=(b"out of memory",),
)
