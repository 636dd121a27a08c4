"""Java, by OpenJDK. The class files travel as one jar, which knows the class that has `main`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.java_build import BUILD, JAVAC
from sandbox_gym.verifiers.coding.languages.language import Language, literally

_UNICODE_ESCAPE: Final = re.compile(r"\\(?:\\|u+([0-9A-Fa-f]{4}))")
_TOKEN: Final = re.compile(
    r"""
      //[^\r\n]*
    | /\*(?:.*?\*/|.*)
    | \"\"\"(?:(?:\\.|[^\\])*?\"\"\"|.*)
    | "(?:\\.|[^"\\\r\n])*"?
    | '(?:\\.|[^'\\\r\n])*'?
    | (?P<word>[^\W\d][\w$]*|\$[\w$]*)
    | (?P<mark>[{}()\[\];])
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = frozenset({"class", "interface", "enum", "record"})


def public_type(code: str) -> str | None:
    """The name of the first public type at the top level; None where there is none."""
    depth, public, kind = 0, False, False
    for token in _TOKEN.finditer(_without_escapes(code)):
        mark, word = token["mark"], token["word"]
        if mark is not None:
            depth += (mark in "{([") - (mark in "})]")
            if depth <= 0 and mark in "};":
                depth, public = 0, False
            kind = False
        elif word is not None and depth == 0:
            if kind and public:
                return word
            public = public or word == "public"
            kind = word in _KINDS
    return None


def _without_escapes(code: str) -> str:
    r"""The source with its \uXXXX read, which Java does before anything else; two backslashes are no escape's begin."""
    if "\\u" not in code:
        return code
    return _UNICODE_ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[0], code)


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
        *("-XX:NewRatio=5", "-Xss64m", "-Xmx{memory_mb}m", "-jar", "{artifact}"),  # one array may take 5/6 of the heap
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
