"""Verilog and SystemVerilog, simulated by Icarus. `$fatal` ends a simulation with a code that is not 0."""

from sandbox_gym.verifiers.coding.languages.language import Language

VERILOG = Language(
    name="verilog",
    aliases=("systemverilog", "iverilog"),
    fences=("v", "sv"),
    source="main.v",
    endings=(".v", ".sv"),
    toolchain="/usr/bin/iverilog",
    package="iverilog",
    image="polyglot-more",
    several="named",
    version=("/usr/bin/iverilog", "-V"),
    compile=("/usr/bin/iverilog", "-g2012", "-o", "{artifact}", "{source}"),
    artifact="main.vvp",
    run=("/usr/bin/vvp", "-n", "{artifact}"),
    memory_signs=(b"std::bad_alloc",),
)
