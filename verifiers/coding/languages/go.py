"""Go, by Debian's compiler, with its standard library and without modules; testify is in the larger image, compiled.

Since 1.20 Go compiles its standard library with each program that finds no cache. The image holds it compiled, where
`GODEBUG=installgoroot=all` has it looked for; older ones ignore that.
"""

from typing import Final

from sandbox_gym.verifiers.coding.languages.language import Language

_CACHE: Final = "/opt/sandbox-gym/compilers/go-cache"
"""Where boxes may hold what Go has compiled already."""
_BUILD: Final = f'[ ! -d {_CACHE} ] || cp -rs {_CACHE} "$GOCACHE"; export GODEBUG=installgoroot=all; exec "$@"'
GO = Language(
    name="go",
    aliases=("golang",),
    source="main.go",
    toolchain="/usr/bin/go",
    package="golang-go",
    version=("/usr/bin/go", "version"),
    compile=(
        *("/bin/sh", "-c", _BUILD, "build"),
        *("/usr/bin/go", "build", "-buildmode=exe", "-ldflags=-s -w", "-o", "{artifact}", "{source}"),
    ),
    artifact="main",
    several="named",
    run=("./{artifact}",),
    env={
        "GO111MODULE": "off",
        "GOFLAGS": "",
        "GOPATH": "/tmp/go:/usr/share/gocode",  # Debian's libraries
        "GOCACHE": "/tmp/go-cache",
        "GOPROXY": "off",
    },
    memory_extra_mb=32,
    memory_signs=(b"fatal error: runtime: out of memory", b"runtime: cannot allocate memory"),
)
