"""Rust's tests: functions with `#[test]`, run by the compiler's own harness."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.rust import RUST

RUST_TEST = replace(
    RUST,
    name="rust_test",
    aliases=("cargo_test",),
    fences=("rust", "rs"),
    compile=(*(RUST.asserting or RUST).compile, "--test"),
    asserting=None,
)
