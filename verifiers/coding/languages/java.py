"""Java, by OpenJDK. The class files travel as one archive; a public class names the source file and has `main`."""

import re

from sandbox_gym.verifiers.coding.languages.language import Language

_BUILD = (
    "/usr/bin/javac -J-Xshare:auto -J-XX:+UseSerialGC -J-XX:TieredStopAtLevel=1 -proc:none -nowarn -encoding UTF-8"
    ' -d classes "$1" && /usr/bin/python3 -I -m zipfile -c "$2" classes/.'
)
JAVA = Language(
    name="java",
    aliases=("java17", "openjdk"),
    source="Main.java",
    toolchain="/usr/bin/javac",
    package="openjdk-17-jdk-headless",
    version=("/usr/bin/javac", "-version"),
    compile=("/bin/sh", "-c", _BUILD, "build", "{source}", "{artifact}"),
    artifact="main.jar",
    run=(
        *("/usr/bin/java", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
        *("-Xss64m", "-Xmx{memory_mb}m", "-cp", "{artifact}", "{main}"),
    ),
    time_factor=1.5,
    start_s=0.5,
    memory_extra_mb=192,
    memory_signs=(b"java.lang.OutOfMemoryError",),
    source_name=re.compile(r"^[ \t]*public[ \t]+(?:final[ \t]+|abstract[ \t]+|strictfp[ \t]+)*class[ \t]+(\w+)", re.M),
)
