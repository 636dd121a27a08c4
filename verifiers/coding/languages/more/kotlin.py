"""Kotlin on OpenJDK, by the compiler that JetBrains publishes on npm (Debian's is of 2018): a program in a jar, and a
script without `main`."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language, literally
from sandbox_gym.verifiers.coding.languages.more.kotlin_build import BUILD, HOME, JVM, KOTLINC

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
