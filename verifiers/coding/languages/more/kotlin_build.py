"""How Kotlin is built, as a Python script for the box: kotlinc, with what its library got later where the program names
that, then the class with `main` where it is an object's or a companion's, which kotlinc does not look for."""

from typing import Final

from sandbox_gym.verifiers.coding.languages.java_build import BUILD as JAVA_BUILD
from sandbox_gym.verifiers.coding.languages.more.kotlin_later import NAMES

LATER: Final = ("sandbox_gym_collections.kt", "sandbox_gym_text.kt")
_CLASS_FILES: Final = JAVA_BUILD.partition("def main_class(")[0]
BUILD: Final = f"""{_CLASS_FILES}
LATER, NAMES = {LATER!r}, {NAMES!r}

def starts(artifact):
    with zipfile.ZipFile(artifact) as jar:
        if b"Main-Class:" in jar.read("META-INF/MANIFEST.MF"):
            return None
        own = [name for name in jar.namelist() if name.endswith(".class") and not name.startswith("kotlin/")]
        found = [one for one in (ClassFile(jar.read(name)) for name in own) if one.has_main]
    found.sort(key=lambda one: (one.nested, one.name != "Main", one.line, one.name))
    return found[0].name.replace("/", ".") if found else None

def main(artifact, *sources):
    text = "".join(open(source, encoding="utf-8", errors="replace").read() for source in sources)
    plain = ("/usr/bin/kotlinc", "-nowarn", "-include-runtime", "-d", artifact, *sources)
    later = (*plain[:1], "-Xallow-kotlin-package", *plain[1:], *LATER)
    wanted = re.search(r"\\b(%s)\\b" % "|".join(NAMES), text)
    for command in (later, plain) if wanted else (plain,):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == 0:
            break
    sys.stderr.buffer.write(done.stdout)
    if done.returncode:
        sys.exit(done.returncode if done.returncode > 0 else 128 - done.returncode)
    name = starts(artifact)
    if name is not None:
        subprocess.run(("/usr/bin/jar", "ufe", artifact, name), check=True)

main(*sys.argv[1:])
"""
