r"""How Java is built, as a Python script for the box: javac, then one jar whose manifest names the class with `main`.

The compiler is asked, not the text: the file is renamed as javac wants it, and the class files say which class has
`public static void main(String[])`. Class files: Java Virtual Machine Specification, chapter 4.

Of several such classes the first of these: from the given source, at the top level, public, called `Main`, first in
the source.
"""

from typing import Final

SHARED: Final = "/opt/sandbox-gym/compilers/java/javac.jsa"
"""Where boxes may hold an archive of javac's classes; a virtual machine that finds none does without."""
JAVAC: Final = (
    *("/usr/bin/javac", f"-J-XX:SharedArchiveFile={SHARED}"),
    *("-J-Xshare:auto", "-J-XX:+UseSerialGC", "-J-XX:TieredStopAtLevel=1", "-J-Duser.language=en"),
    *("-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", ".sandbox_gym_classes"),
)
JARS: Final = r'''
import os
import re
import struct
import subprocess
import sys
import zipfile

CLASSES = ".sandbox_gym_classes"
MAIN = (b"main", b"([Ljava/lang/String;)V")
PUBLIC, STATIC = 1, 8
WIDTHS = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


class ClassFile:
    """One class file: its name, whether it is nested, and what is known of its main method."""

    def __init__(self, data):
        self.data, self.at = data, 8
        self.pool = self.constants()
        access, this, _super = self.take(">HHH")
        self.public = bool(access & PUBLIC)
        self.name = self.pool[self.pool[this]].decode("utf-8", "surrogatepass")
        self.jump(2 * self.take(">H")[0])
        self.has_main, self.line, self.source, self.nested = False, 0, b"", False
        self.members(self.skip)
        self.members(self.method)
        for name, body in self.attributes():
            if name == b"SourceFile":
                self.source = self.pool[struct.unpack(">H", body)[0]]
            elif name == b"InnerClasses":
                self.nested = any(entry[0] == this for entry in struct.iter_unpack(">HHHH", body[2:]))

    def take(self, form):
        values = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return values

    def jump(self, size):
        self.at += size

    def constants(self):
        """Text by index, and for classes the index of their name."""
        pool, index, count = {}, 1, self.take(">H")[0]
        while index < count:
            tag = self.take(">B")[0]
            if tag == 1:
                size = self.take(">H")[0]
                pool[index] = self.data[self.at : self.at + size]
                self.at += size
            else:
                if tag == 7:
                    pool[index] = struct.unpack_from(">H", self.data, self.at)[0]
                self.at += WIDTHS[tag]
            index += 2 if tag in (5, 6) else 1
        return pool

    def members(self, each):
        for _ in range(self.take(">H")[0]):
            access, name, descriptor = self.take(">HHH")
            each(access, self.pool[name], self.pool[descriptor], self.attributes())

    def attributes(self):
        found = []
        for _ in range(self.take(">H")[0]):
            name, size = self.take(">HI")
            found.append((self.pool[name], self.data[self.at : self.at + size]))
            self.at += size
        return found

    def skip(self, *_member):
        pass

    def method(self, access, name, descriptor, attributes):
        if (name, descriptor) == MAIN and access & PUBLIC and access & STATIC:
            self.has_main = True
            self.line = min([line for kind, body in attributes if kind == b"Code" for line in self.lines(body)] or [0])

    def lines(self, code):
        """The line numbers of a method's code."""
        inner = ClassFile.__new__(ClassFile)
        inner.data, inner.pool, inner.at = code, self.pool, 4
        inner.jump(inner.take(">I")[0])
        inner.jump(8 * inner.take(">H")[0])
        for name, body in inner.attributes():
            if name == b"LineNumberTable":
                return [line for _start, line in struct.iter_unpack(">HH", body[2:])]
        return []

    def order(self, source, text):
        package, _, simple = self.name.rpartition("/")
        place = re.search(r"\b(?:class|interface|enum|record)\s+%s\b" % re.escape(simple.rpartition("$")[2]), text)
        return (
            self.source != source.encode("utf-8", "surrogatepass"),
            self.nested,
            not self.public,
            simple != "Main",
            self.line,
            place.start() if place else len(text),
            self.name,
        )


def class_paths():
    walked = os.walk(CLASSES)
    return sorted(os.path.join(folder, name) for folder, _folders, names in walked for name in names)


def class_files(paths):
    """Those of `paths` that are class files and have a main method."""
    found = []
    for path in paths:
        if path.endswith(".class"):
            with open(path, "rb") as file:
                found.append(ClassFile(file.read()))
    return [one for one in found if one.has_main]


def passed_on(done):
    """Say what the compiler said, and end as it did where it failed: by its signal, so that who sent it is asked."""
    sys.stderr.buffer.write(done.stdout)
    sys.stderr.flush()
    if done.returncode < 0:
        os.kill(os.getpid(), -done.returncode)
    if done.returncode:
        sys.exit(done.returncode)


def manifest(fields):
    """A manifest's lines hold at most 72 bytes; a longer one goes on in the next, behind a blank."""
    lines = []
    for name, value in (("Manifest-Version", "1.0"), *fields):
        line = name.encode() + b": " + value.encode("utf-8", "surrogatepass")
        while len(line) > 70:
            lines.append(line[:70])
            line = b" " + line[70:]
        lines.append(line)
    return b"\r\n".join([*lines, b"", b""])


def pack(artifact, paths, *fields):
    """One jar of all that was compiled."""
    with zipfile.ZipFile(artifact, "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), manifest(fields))
        for path in paths:
            entry = zipfile.ZipInfo(os.path.relpath(path, CLASSES))
            entry.compress_type = zipfile.ZIP_DEFLATED
            with open(path, "rb") as file:
                jar.writestr(entry, file.read())
'''
"""The part of a build that does not depend on the language: class files, and jars."""
BUILD: Final = (
    JARS
    + r'''
OTHER_FILE = re.compile(r"error: .* should be declared in a file named (\w[\w$]*|\$[\w$]*)\.java\r?$", re.M)


def main_class(paths, source, text):
    """The class to start, with dots; None where none has a main method."""
    startable = class_files(paths)
    if not startable:
        return None
    return min(startable, key=lambda one: one.order(source, text)).name.replace("/", ".")


def compiled(javac, source):
    """Run javac; the source's name, which is another one where javac asked for it. Exits as javac does."""
    for last in (False, True):
        done = subprocess.run([*javac, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said = OTHER_FILE.search(done.stdout.decode("utf-8", "replace")) if done.returncode and not last else None
        wanted = said.group(1) + ".java" if said else ""
        if not wanted or len(wanted.encode()) > 255 or os.path.lexists(wanted):
            break
        os.rename(source, wanted)
        source = wanted
    passed_on(done)
    return source


def main(artifact, source, javac):
    os.makedirs(CLASSES, exist_ok=True)
    source = compiled(javac, source)
    with open(source, encoding="utf-8", errors="replace") as file:
        text = file.read()
    paths = class_paths()
    name = main_class(paths, source, text)
    if name is None:
        sys.exit("%s: error: no class has a method `public static void main(String[])`" % source)
    pack(artifact, paths, ("Main-Class", name))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
'''
)
"""Called as `python3 -I -c BUILD artifact source javac...`."""
