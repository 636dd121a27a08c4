"""R scripts. `file("stdin")` is the program's input."""

from sandbox_gym.verifiers.coding.languages.language import Language

R = Language(
    name="r",
    aliases=("rscript", "rlang"),
    source="main.R",
    toolchain="/usr/bin/Rscript",
    package="r-base-core",
    image="polyglot-more",
    version=("/usr/bin/Rscript", "--version"),
    run=("/usr/bin/Rscript", "--vanilla", "{source}"),
    env={"LC_ALL": "C.UTF-8"},
    time_factor=1.5,
    start_s=0.6,
    memory_extra_mb=96,
    memory_signs=(b"cannot allocate vector", b"cannot allocate memory"),
)
