"""OCaml, as native code, with Unix and Str."""

from sandbox_gym.verifiers.coding.languages.language import Language

OCAML = Language(
    name="ocaml",
    aliases=("ml",),
    source="main.ml",
    toolchain="/usr/bin/ocamlopt",
    package="ocaml-nox",
    image="polyglot-more",
    several="named",
    version=("/usr/bin/ocamlopt", "-version"),
    compile=(
        *("/usr/bin/ocamlopt", "-w", "-a", "-I", "+unix", "-I", "+str", "unix.cmxa", "str.cmxa"),
        *("-o", "{artifact}", "{source}"),
    ),
    artifact="main",
    run=("./{artifact}",),
    memory_signs=(b"Out_of_memory", b"Out of memory"),
)
