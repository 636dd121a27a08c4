"""Runners of unit tests, each as a language whose program is a file of tests: right where all tests pass."""

from __future__ import annotations

from sandbox_gym.verifiers.coding.languages.language import Language
from sandbox_gym.verifiers.coding.languages.runners.go_test import GO_TEST
from sandbox_gym.verifiers.coding.languages.runners.jest import JEST
from sandbox_gym.verifiers.coding.languages.runners.junit import JUNIT
from sandbox_gym.verifiers.coding.languages.runners.pytest import PYTEST
from sandbox_gym.verifiers.coding.languages.runners.rust_test import RUST_TEST

RUNNERS: tuple[Language, ...] = (PYTEST, GO_TEST, JEST, JUNIT, RUST_TEST)
