"""Go's tests: `go test` in two steps."""

from dataclasses import replace

from sandbox_gym.verifiers.coding.languages.go import GO

GO_TEST = replace(
    GO,
    name="go_test",
    aliases=("gotest",),
    fences=("go", "golang"),
    source="main_test.go",
    package="golang-go golang-github-stretchr-testify-dev",
    image="polyglot-more",
    compile=(
        *GO.compile[: GO.compile.index("/usr/bin/go")],
        *("/usr/bin/go", "test", "-vet=off", "-ldflags=-s -w", "-c", "-o", "{artifact}", "{source}"),
    ),
)
