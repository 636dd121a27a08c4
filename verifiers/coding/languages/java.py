"""Java, by OpenJDK. The class files travel as one jar, which knows the class that has `main`."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.java_build import BUILD, JAVAC
from sandbox_gym.verifiers.coding.languages.java_source import public_type
from sandbox_gym.verifiers.coding.languages.language import Language, literally

_JAVA = Language(
    name="java",
    aliases=("java17", "java21", "openjdk"),
    source="Main.java",
    toolchain="/usr/bin/javac",
    package="default-jdk-headless",
    version=("/usr/bin/javac", "-version"),
    compile=("/usr/bin/python3", "-I", "-c", literally(BUILD), "{artifact}", "{source}", *JAVAC),
    artifact="main.jar",
    several="beside",
    run=(
        *("/usr/bin/java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        *("-Xss64m", "-Xmx{memory_mb}m", "-jar", "{artifact}"),
    ),
    time_factor=1.5,
    start_s=0.5,
    memory_extra_mb=192,
    memory_signs=(b"java.lang.OutOfMemoryError",),
    source_stem=public_type,
)
JAVA = replace(_JAVA, asserting=replace(_JAVA, run=(_JAVA.run[0], "-ea", *_JAVA.run[1:])))
_TUPLES = "/usr/share/java/javatuples.jar"
JAVA_WITH_TUPLES = replace(
    JAVA,
    image="polyglot-more",
    compile=(*JAVA.compile, "-cp", f".:{_TUPLES}"),
    run=(JAVA.run[0], "-ea", f"-Xbootclasspath/a:{_TUPLES}", *JAVA.run[1:]),
)
"""Beside the library javatuples, which tests of HumanEval in Java import."""
