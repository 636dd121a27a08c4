"""Options that a source makes its compiler take, those that keep verdicts alike from one compiler to the next, and how
a build ends whose compiler was killed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from sandbox_gym.contract import Outcome, Status
from sandbox_gym.plans.starvation import doubt_of_compiler
from sandbox_gym.sandbox import prepared_compilers
from sandbox_gym.sandbox.blame import unexplained
from sandbox_gym.sandbox.local.jail import COMPILERS
from sandbox_gym.verifiers.coding import language_named
from sandbox_gym.verifiers.coding.languages.more import kotlin

OLD_C = '#include <stdio.h>\nmain() { char *s = malloc(8); strcpy(s, "3"); puts(s); return strlen(s) - 1; }\n'


@pytest.mark.skipif(not Path("/usr/bin/gcc").exists(), reason="no gcc on this machine")
def test_c_as_it_was_before_gcc_14(tmp_path: Path) -> None:
    language = language_named("c")
    assert language is not None
    (tmp_path / "main.c").write_text(OLD_C)
    argv = [part.format(source="main.c", artifact="main") for part in language.compile]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert subprocess.run([tmp_path / "main"], capture_output=True, timeout=60, check=True).stdout == b"3\n"


@pytest.mark.parametrize(
    ("source", "library"),
    [
        ("@main\nstruct Main { static func main() { print(3) } }", True),
        ("import Foundation\n\n  @main struct Main {}", True),
        ("print(3)", False),
        ('print("@main") // @main', False),
    ],
)
def test_a_type_that_is_swifts_main(source: str, library: bool) -> None:
    language = language_named("swift")
    assert language is not None
    assert language.options_for([source.encode()]) == (("-parse-as-library",) if library else ())


def test_what_is_prepared_for_kotlin_is_what_its_compiler_asks_for() -> None:
    assert f"{COMPILERS}/kotlin/kotlinc.jsa" == kotlin.SHARED
    options = (*kotlin.JVM[1:], "-Xmx512m", *kotlin.KOTLINC)
    asked = [option for option in options if kotlin.SHARED not in option]
    assert asked == list(prepared_compilers.KOTLIN_OPTIONS)
    compile(kotlin.BUILD, "build", "exec")
    language = language_named("kotlin")
    assert language is not None
    assert language.toolchain == prepared_compilers.KOTLINC
    assert kotlin.BUILD in [part.replace("{{", "{").replace("}}", "}") for part in language.compile]
    assert language.installation.endswith(f"npm install --global --prefix /usr/local {language.npm}")


@pytest.mark.parametrize("name", ["c", "java", "junit", "kotlin", "typescript", "csharp", "go_test", "scala"])
@pytest.mark.parametrize(("ends", "killed"), [("kill -9 $$", True), ("kill -TERM $$", True), ("exit 1", False)])
def test_a_build_tells_that_its_compiler_was_killed(tmp_path: Path, name: str, ends: str, killed: bool) -> None:
    language = language_named(name)
    assert language is not None
    (tmp_path / "compiler").write_text(f"#!/bin/sh\n{ends}\n")
    (tmp_path / "compiler").chmod(0o755)
    for file, content in {language.source: b"", **language.build_files}.items():
        (tmp_path / file).write_bytes(content)
    values = {"source": language.source, "artifact": language.artifact, "memory_mb": "256"}
    argv = [part.format_map(values) for part in language.compile]
    for path in ("/usr/bin/javac", "/usr/bin/java", "/usr/bin/node", "/usr/bin/go", language.toolchain):
        argv = [re.sub(rf"{path}(?![\w/.-])", f"{tmp_path}/compiler", part) for part in argv]
    done = subprocess.run(argv, cwd=tmp_path, env={}, capture_output=True, timeout=60, check=False)
    signal, code = (-done.returncode, None) if done.returncode < 0 else (None, done.returncode)
    outcome = Outcome(Status.RUNTIME_ERROR, code, signal, stdout=done.stdout, stderr=done.stderr)
    assert done.returncode != 0
    assert (unexplained(outcome.status, signal) or doubt_of_compiler(outcome) is not None) is killed
