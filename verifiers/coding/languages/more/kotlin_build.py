"""How Kotlin is built, as a Python script for the box: kotlinc, then one jar whose manifest names the class with `main`
and Kotlin's own libraries. That class may be a file's, an object's or a companion's.

The compiler is run as its `kotlinc` does, by one virtual machine less and from an archive of its classes.
"""

from typing import Final

from sandbox_gym.verifiers.coding.languages.java_build import JARS

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
