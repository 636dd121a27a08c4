r"""C++, by GCC: the standard of 2017, which programs of 2011 and 2014 fit, and what that refuses by the one of 2023;
2020 and 2023 under names of their own.

Boxes may hold `bits/stdc++.h` precompiled, a folder for each standard. It stands for the header only where the source
begins with that header: a macro or a pragma before it could change what it means.
"""

import re
from dataclasses import replace
from functools import partial
from typing import Final

from sandbox_gym.verifiers.coding.languages.language import Language

PRECOMPILED: Final = "/opt/sandbox-gym/compilers/cpp"
"""Folders that may stand before the system's on the search path, by standard; one that is not there is passed over."""
_BEGINS_WITH_IT: Final = re.compile(
    rb"""
    (?: [ \t\f\v]*+ (?: \r?\n | //[^\n\\]*+\n | /\*[^*\\]*+\*++(?:[^/*\\][^*\\]*+\*++)*+/ ) )*+
    [ \t\f\v]*+ \#[ \t]*+ include[ \t]*+ <bits/stdc\+\+\.h> [ \t]*+ (?: \r?\n | // | /\* | \Z )
    """,
    re.VERBOSE,
)

_TARGET: Final = re.compile(rb'(?:#[ \t]{0,9}pragma|_Pragma[ \t]{0,9}\([ \t]{0,9}")[ \t]{0,9}GCC[ \t]{1,9}target')
_HEADER: Final = re.compile(rb"[ \t]*+#[ \t]*+include[ \t]*+<([A-Za-z0-9_./+-]{1,60})>")
_CONDITION: Final = re.compile(rb"[ \t]*+#[ \t]*+(if|endif)")
_MOST_HEADERS: Final = 100
_FENCES: Final = ("c", *(f"{name}{year}" for name in ("cpp", "c++") for year in (11, 14, 17, 20, 23)))
"""A program's block may name another standard than its row."""


def precompiled_header(standard: str, source: bytes) -> tuple[str, ...]:
    """Options by which GCC takes the precompiled header where it is there and fits, else the system's."""
    return ("-isystem", f"{PRECOMPILED}/{standard}") if _BEGINS_WITH_IT.match(source) else ()


def tries(standard: str, newer: str, source: bytes) -> tuple[tuple[str, ...], ...]:
    """What GCC 12 takes and GCC 14 does not: a program without `<cstdint>`, which `<iostream>` included, and with its
    headers behind `#pragma GCC target("avx2")`, with which programs of contests begin: they stand before its first line
    then. And a program of a `newer` standard."""
    first = _headers_first(standard, source) if _TARGET.search(source) else ()
    again = ("target specific option mismatch|#include <cstdint>", *first, "-include", "cstdint")
    return (again, ("error: ", f"-std={newer}", *first)) if newer else (again,)


def _headers_first(standard: str, source: bytes) -> tuple[str, ...]:
    headers: dict[str, None] = {}
    depth = 0
    for line in source.splitlines():
        if condition := _CONDITION.match(line):
            depth += 1 if condition[1] == b"if" else -1
        elif depth == 0 and (header := _HEADER.match(line)):
            headers[header[1].decode()] = None
    options = [part for header in list(headers)[:_MOST_HEADERS] for part in ("-include", header)]
    return (*(("-isystem", f"{PRECOMPILED}/{standard}") if options[1:2] == ["bits/stdc++.h"] else ()), *options)


CPP = Language(
    name="cpp",
    aliases=("c++", "cpp17", "c++17", "cpp14", "c++14", "cpp11", "c++11", "cc", "cxx", "g++", "gtest"),
    fences=_FENCES,
    source="main.cpp",
    endings=(".cpp", ".cc", ".cxx", ".c++", ".C"),
    several="listed",
    toolchain="/usr/bin/g++",
    package="g++",
    version=("/usr/bin/g++", "--version"),
    compile=("/usr/bin/g++", "-std=gnu++17", "-O2", "-pipe", "-w", "-o", "{artifact}", "{source}"),
    compile_options=partial(precompiled_header, "gnu++17"),
    tries=partial(tries, "gnu++17", "gnu++23"),
    artifact="main",
    run=("./{artifact}",),
    memory_signs=(b"std::bad_alloc",),
)
CPP20, CPP23 = (
    replace(
        CPP,
        name=f"cpp{year}",
        aliases=(f"c++{year}",),
        fences=(*_FENCES, *CPP.tags),
        compile=tuple(part.replace("17", str(year)) for part in CPP.compile),
        compile_options=partial(precompiled_header, f"gnu++{year}"),
        tries=partial(tries, f"gnu++{year}", ""),
    )
    for year in (20, 23)
)
