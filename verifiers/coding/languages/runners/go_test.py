"""Go's tests: `go test` in two steps. Of modules outside its library, testify is there, compiled in the image."""

from dataclasses import replace
from typing import Final

from sandbox_gym.verifiers.coding.languages.go import GO

CACHE: Final = "/opt/sandbox-gym/compilers/go-cache"
"""Where boxes may hold what Go has compiled already."""
GO_TEST = replace(
    GO,
    name="go_test",
    aliases=("gotest",),
    fences=("go", "golang"),
    source="main_test.go",
    package="golang-go golang-github-stretchr-testify-dev",
    image="polyglot-more",
    compile=(
        *("/bin/sh", "-c", f'[ ! -d {CACHE} ] || cp -rs {CACHE} "$GOCACHE"; exec "$@"', "build", *GO.compile[:2]),
        *("/usr/bin/go", "test", "-vet=off", "-ldflags=-s -w", "-c", "-o", "{artifact}", "{source}"),
    ),
    env={**GO.env, "GOPATH": "/tmp/go:/usr/share/gocode"},
)
