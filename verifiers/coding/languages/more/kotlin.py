"""Kotlin on OpenJDK, by the compiler that JetBrains publishes on npm (Debian's is of 2018): a program in a jar, and a
script without `main`."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.java_build import JARS
from sandbox_gym.verifiers.coding.languages.language import Language, literally

HOME: Final = "/usr/local/lib/node_modules/kotlin-compiler"
SHARED: Final = "/opt/sandbox-gym/compilers/kotlin/kotlinc.jsa"
"""Where boxes may hold an archive of the compiler's classes; a virtual machine that finds none does without."""
LIBRARIES: Final = ("kotlin-stdlib", "kotlin-reflect", "kotlinx-coroutines-core-jvm", "kotlin-test", "annotations-13.0")
JVM: Final = (
    *("/usr/bin/java", f"-XX:SharedArchiveFile={SHARED}", "-Xshare:auto", "-XX:+UseSerialGC"),
    *("-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Duser.language=en"),
)
KOTLINC: Final = (
    *("-cp", f"{HOME}/lib/kotlin-compiler.jar", "org.jetbrains.kotlin.cli.jvm.K2JVMCompiler"),
    *("-kotlin-home", HOME, "-nowarn"),
)
BUILD: Final = f"""{JARS}
HOME, KOTLINC = {HOME!r}, {(*JVM, "-Xmx512m", *KOTLINC)!r}
LIBRARIES = [HOME + "/lib/" + name + ".jar" for name in {LIBRARIES!r}]


def main(artifact, *sources):
    command = (*KOTLINC, "-cp", ":".join(LIBRARIES), "-d", CLASSES, *sources)
    passed_on(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    paths, first = class_paths(), sources[0].encode("utf-8", "surrogatepass")
    found = sorted(class_files(paths), key=lambda one: (one.source != first, one.nested, one.line, one.name))
    if not found:
        sys.exit("%s: error: there is no function `main`" % sources[0])
    libraries = " ".join("file:" + library for library in LIBRARIES)
    pack(artifact, paths, ("Main-Class", found[0].name.replace("/", ".")), ("Class-Path", libraries))


main(*sys.argv[1:])
"""
"""Called as `python3 -I -c BUILD artifact source...`."""


_KOTLIN = Language(
    name="kotlin",
    aliases=("kt",),
    source="main.kt",
    toolchain=f"{HOME}/bin/kotlinc",
    package="default-jdk-headless",
    npm="kotlin-compiler@2.4.20",
    image="polyglot-more",
    several="named",
    version=(f"{HOME}/bin/kotlinc", "-version"),
    compile=("/usr/bin/python3", "-I", "-c", literally(BUILD), "{artifact}", "{source}"),
    artifact="main.jar",
    run=(
        *("/usr/bin/java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        *("-Xss64m", "-Xmx{memory_mb}m", "-jar", "{artifact}"),
    ),
    time_factor=1.5,
    start_s=0.8,
    memory_extra_mb=192,
    memory_signs=(b"java.lang.OutOfMemoryError",),
)
KOTLIN = replace(_KOTLIN, asserting=replace(_KOTLIN, run=(_KOTLIN.run[0], "-ea", *_KOTLIN.run[1:])))
KOTLIN_SCRIPT = replace(
    _KOTLIN,
    name="kotlin_script",
    aliases=("kts",),
    fences=("kotlin", "kt"),
    source="main.kts",
    several="found",
    compile=(),
    artifact="",
    run=(*JVM, "-ea", "-Xmx{memory_mb}m", *KOTLINC, "-script", "{source}"),
    start_s=12.0,
    memory_extra_mb=512,
)
