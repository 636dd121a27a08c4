"""The archive of javac's classes: boxes take it, and without it javac says and makes the same."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox import prepared_compilers
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.local.compilers import PreparedCompilers, default_folder
from sandbox_gym.sandbox.local.jail import COMPILERS
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.verifiers.coding.languages.java_build import JAVAC, SHARED
from tests.conformance.running import run

LIMITS = Limits(
    cpu_time_s=30, wall_time_s=90, memory_bytes=1536 * MIB, stdout_bytes=8 * MIB, stderr_bytes=MIB, processes=64
)
SOURCE = (Path(__file__).parents[1] / "golden" / "corpus" / "sum" / "ac_plain.java").read_text()


def test_what_is_prepared_is_what_javac_asks_for() -> None:
    assert f"{COMPILERS}/java/javac.jsa" == SHARED
    asked = [option for option in JAVAC if SHARED not in option]
    options = (*prepared_compilers.JVM_OPTIONS, *prepared_compilers.JAVAC_OPTIONS)
    assert asked == [prepared_compilers.JAVAC, *options, "-d", ".sandbox_gym_classes"]


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_boxes_take_it_and_make_the_same_without(provider: str) -> None:
    compilers = PreparedCompilers(default_folder())
    assert compilers.for_image("polyglot") is not None
    assert compilers.wait(240)
    compilers.close()
    script = """
log=$1; shift; mkdir classes; "$@" -J-Xlog:class+load:file=loaded -d classes Main.java || exit
grep -c 'source: shared objects file (top)' loaded >&2
cat classes/*.class; (echo x > "$log") 2>/dev/null && echo changed >&2; exit 0
"""
    javac = JAVAC[: JAVAC.index("-d")]
    without = [option for option in javac if SHARED not in option]
    missing = [option.replace(SHARED, "/nowhere/javac.jsa") for option in javac]
    made = make_provider(Settings(provider=provider))
    outcomes = []
    try:
        box = await made.create(SandboxSpec("polyglot"))
        try:
            for argv in (javac, without, missing):
                command = ("/bin/sh", "-c", script, "sh", SHARED, *argv)
                files = {"Main.java": SOURCE.encode()}
                outcomes.append(await run(box, "", mode="exec", argv=command, files=files, limits=LIMITS))
        finally:
            await box.aclose()
    finally:
        await made.aclose()
    assert len({hashlib.sha256(outcome.stdout).digest() for outcome in outcomes}) == 1
    assert outcomes[0].stdout.startswith(b"\xca\xfe\xba\xbe")
    taken = [outcome.stderr.decode().split() for outcome in outcomes]
    assert int(taken[0][0]) > 500, taken
    assert taken[1:] == [["0"], ["0"]]
    assert len(taken[0]) == 1
