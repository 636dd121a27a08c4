"""Java's tests, by JUnit 5, which runs those of JUnit 4 too. The jar holds the classes of all sources."""

import shlex
from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.java import JAVA
from sandbox_gym.verifiers.coding.languages.java_build import JAVAC
from sandbox_gym.verifiers.coding.languages.language import literally

_JARS = (
    *("junit-jupiter-api", "junit-jupiter-engine", "junit-jupiter-params", "junit-vintage-engine", "junit4"),
    *("junit-platform-commons", "junit-platform-console", "junit-platform-engine", "junit-platform-launcher"),
    *("junit-platform-reporting", "hamcrest", "hamcrest-core", "opentest4j", "apiguardian-api", "picocli"),
    *("univocity-parsers", "javatuples"),
)
CLASS_PATH: Final = ":".join(f"/usr/share/java/{name}.jar" for name in _JARS)
_LAUNCHER: Final = "/usr/share/java/junit-platform-console.jar"
_BUILD = 'out=$1; shift; "$@" && cd .sandbox_gym_classes && /usr/bin/python3 -I -m zipfile -c "../$out" *'
JUNIT = replace(
    JAVA,
    name="junit",
    aliases=("junit5", "junit4"),
    fences=("java",),
    toolchain=_LAUNCHER,
    version=("/bin/sh", "-c", f"[ -e {_LAUNCHER} ] && exec {shlex.join(JAVA.version)}"),
    package="junit5 libjavatuples-java default-jdk-headless",
    image="polyglot-more",
    compile=(
        *("/bin/sh", "-c", literally(_BUILD), "build", "{artifact}"),
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
