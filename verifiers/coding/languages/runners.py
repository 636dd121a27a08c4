"""Runners of unit tests, each as a language whose program is a file of tests: right where all tests pass."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.go import GO
from sandbox_gym.verifiers.coding.languages.java import JAVA
from sandbox_gym.verifiers.coding.languages.java_build import JAVAC
from sandbox_gym.verifiers.coding.languages.javascript import JAVASCRIPT
from sandbox_gym.verifiers.coding.languages.language import Language, literally
from sandbox_gym.verifiers.coding.languages.rust import RUST

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
GO_TEST = replace(
    GO,
    name="go_test",
    aliases=("gotest",),
    fences=("go", "golang"),
    source="main_test.go",
    package="golang-go golang-github-stretchr-testify-dev",
    image="polyglot-more",
    compile=(
        *GO.compile[: GO.compile.index("/usr/bin/go")],
        *("/usr/bin/go", "test", "-vet=off", "-ldflags=-s -w", "-c", "-o", "{artifact}", "{source}"),
    ),
)
"""`go test` in two steps."""
_NODE_MODULES = "/usr/share/nodejs"
_PRESETS = [
    [f"{_NODE_MODULES}/@babel/preset-env", {"targets": {"node": "current"}}],
    f"{_NODE_MODULES}/@babel/preset-typescript",
]
_JEST_CONFIG = {
    "rootDir": ".",
    "testRegex": r"\.test\.[jt]sx?$",
    "modulePaths": [_NODE_MODULES],
    "transform": {r"\.[cm]?[jt]sx?$": [f"{_NODE_MODULES}/babel-jest", {"presets": _PRESETS, "babelrc": False}]},
}
JEST = replace(
    JAVASCRIPT,
    name="jest",
    aliases=(),
    fences=("javascript", "js", "typescript", "ts"),
    source="main.test.ts",
    toolchain="/usr/bin/jest",
    package="jest node-lodash",
    image="polyglot-more",
    version=("/usr/bin/jest", "--version"),
    run=("/usr/bin/jest", "--ci", "-i", "--no-cache", "--config", literally(json.dumps(_JEST_CONFIG)), "{source}"),
    run_files={},
    start_s=3.0,
    memory_extra_mb=160,
)
"""JavaScript's and TypeScript's tests, with Babel's presets `env` and `typescript`: types are not checked."""
_JARS = (
    *("junit-jupiter-api", "junit-jupiter-engine", "junit-jupiter-params", "junit-vintage-engine", "junit4"),
    *("junit-platform-commons", "junit-platform-console", "junit-platform-engine", "junit-platform-launcher"),
    *("junit-platform-reporting", "hamcrest", "hamcrest-core", "opentest4j", "apiguardian-api", "picocli"),
    *("univocity-parsers", "javatuples"),
)
CLASS_PATH: Final = ":".join(f"/usr/share/java/{name}.jar" for name in _JARS)
_JUNIT_LAUNCHER: Final = "/usr/share/java/junit-platform-console.jar"
_JUNIT_BUILD = 'out=$1; shift; "$@" && cd .sandbox_gym_classes && /usr/bin/python3 -I -m zipfile -c "../$out" *'
JUNIT = replace(
    JAVA,
    name="junit",
    aliases=("junit5", "junit4"),
    fences=("java",),
    toolchain=_JUNIT_LAUNCHER,
    version=("/bin/sh", "-c", f"[ -e {_JUNIT_LAUNCHER} ] && exec {shlex.join(JAVA.version)}"),
    package="junit5 libjavatuples-java default-jdk-headless",
    image="polyglot-more",
    compile=(
        *("/bin/sh", "-c", literally(_JUNIT_BUILD), "build", "{artifact}"),
        *(*JAVAC, "-cp", f".:{CLASS_PATH}", "{source}"),
    ),
    run=(
        *(JAVA.run[0], "-ea", *JAVA.run[1 : JAVA.run.index("-jar")], "-cp", CLASS_PATH),
        *("org.junit.platform.console.ConsoleLauncher", "--disable-banner", "--disable-ansi-colors"),
        *("--class-path", "{artifact}", "--scan-class-path", "{artifact}"),
    ),
    start_s=2.0,
    several="listed",
    asserting=None,
)
"""JUnit 5, which runs the tests of JUnit 4 too. The jar holds the classes of all sources."""
RUST_TEST = replace(
    RUST,
    name="rust_test",
    aliases=("cargo_test",),
    fences=("rust", "rs"),
    compile=(*(RUST.asserting or RUST).compile, "--test"),
    asserting=None,
)
"""Functions with `#[test]`, run by the compiler's own harness."""

RUNNERS: tuple[Language, ...] = (PYTEST, GO_TEST, JEST, JUNIT, RUST_TEST)
