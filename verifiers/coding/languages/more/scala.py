"""Scala 2, by Debian's compiler. Which object has `main` is written in the jar by the compiler."""

from sandbox_gym.verifiers.coding.languages.language import Language

SCALA = Language(
    name="scala",
    aliases=("scala2",),
    fences=("scala3",),
    source="Main.scala",
    toolchain="/usr/bin/scalac",
    package="scala default-jdk-headless",
    image="polyglot-more",
    several="named",
    version=("/usr/bin/scalac", "-version"),
    compile=(
        *("/usr/bin/scalac", "-J-Xmx1g", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-XX:-UsePerfData"),
        *("-nowarn", "-d", "{artifact}", "{source}"),
    ),
    artifact="main.jar",
    run=(
        *("/usr/bin/java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        *("-Xss64m", "-Xmx{memory_mb}m", "-Xbootclasspath/a:/usr/share/java/scala-library.jar", "-jar", "{artifact}"),
    ),
    time_factor=1.5,
    start_s=0.8,
    memory_extra_mb=192,
    memory_signs=(b"java.lang.OutOfMemoryError",),
)
