"""C++, by GCC: the standard of 2017, and of 2020 under a name of its own."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.language import Language

CPP = Language(
    name="cpp",
    aliases=("c++", "cpp17", "c++17", "cc", "cxx", "g++"),
    source="main.cpp",
    toolchain="/usr/bin/g++",
    package="g++",
    version=("/usr/bin/g++", "--version"),
    compile=("/usr/bin/g++", "-std=gnu++17", "-O2", "-pipe", "-w", "-o", "{artifact}", "{source}"),
    artifact="main",
    run=("./{artifact}",),
    memory_signs=(b"std::bad_alloc",),
)
CPP20 = replace(
    CPP,
    name="cpp20",
    aliases=("c++20",),
    fences=("cpp", "c++", "cc", "cxx"),
    compile=("/usr/bin/g++", "-std=gnu++20", "-O2", "-pipe", "-w", "-o", "{artifact}", "{source}"),
)
