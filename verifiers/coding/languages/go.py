"""Go, by Debian's compiler, with its standard library and without modules.

Since 1.20 Go compiles its standard library with each program that finds no cache. The image holds it compiled, where
`GODEBUG=installgoroot=all` has it looked for; older ones ignore that.
"""

from sandbox_gym.verifiers.coding.languages.language import Language

GO = Language(
    name="go",
    aliases=("golang",),
    source="main.go",
    toolchain="/usr/bin/go",
    package="golang-go",
    version=("/usr/bin/go", "version"),
    compile=(
        *("/usr/bin/env", "GODEBUG=installgoroot=all"),
        *("/usr/bin/go", "build", "-buildmode=exe", "-ldflags=-s -w", "-o", "{artifact}", "{source}"),
    ),
    artifact="main",
    several="named",
    run=("./{artifact}",),
    env={"GO111MODULE": "off", "GOFLAGS": "", "GOPATH": "/tmp/go", "GOCACHE": "/tmp/go-cache", "GOPROXY": "off"},
    memory_extra_mb=32,
    memory_signs=(b"fatal error: runtime: out of memory", b"runtime: cannot allocate memory"),
)
