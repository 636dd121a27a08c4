"""Kotlin on OpenJDK, by Debian's compiler (1.3) with later versions' library: a program in a jar, and a script without
`main`."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language, literally
from sandbox_gym.verifiers.coding.languages.more.kotlin_build import BUILD, LATER
from sandbox_gym.verifiers.coding.languages.more.kotlin_later import COLLECTIONS, TEXT

_JVM = ("/usr/bin/java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
_VERSION = ("/bin/sh", "-c", "[ -x /usr/bin/kotlinc ] && /usr/bin/kotlinc -version 2>&1 | tail -n 1")
_KOTLIN = Language(
    name="kotlin",
    aliases=("kt",),
    source="main.kt",
    toolchain="/usr/bin/kotlinc",
    package="kotlin default-jdk-headless",
    image="polyglot-more",
    several="named",
    version=_VERSION,
    compile=("/usr/bin/python3", "-I", "-c", literally(BUILD), "{artifact}", "{source}"),
    build_files=dict(zip(LATER, (COLLECTIONS.encode(), TEXT.encode()), strict=True)),
    artifact="main.jar",
    run=(*_JVM, "-Xss64m", "-Xmx{memory_mb}m", "-jar", "{artifact}"),
    time_factor=1.5,
    start_s=0.8,
    memory_extra_mb=192,
    memory_signs=(b"java.lang.OutOfMemoryError",),
)
KOTLIN = replace(_KOTLIN, asserting=replace(_KOTLIN, run=(_KOTLIN.run[0], "-ea", *_KOTLIN.run[1:])))
KOTLIN_SCRIPT = Language(
    name="kotlin_script",
    aliases=("kts",),
    fences=("kotlin", "kt"),
    source="main.kts",
    toolchain="/usr/bin/kotlinc",
    package="kotlin default-jdk-headless",
    image="polyglot-more",
    version=_VERSION,
    run=("/usr/bin/kotlinc", "-J-ea", "-nowarn", "-script", "{source}"),
    time_factor=1.5,
    start_s=12.0,
    memory_extra_mb=512,
    memory_signs=(b"java.lang.OutOfMemoryError",),
)
