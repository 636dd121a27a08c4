"""Ruby, by its reference interpreter. At its start it touches all of the stack that it may have, so it gets less."""

from sandbox_gym.verifiers.coding.languages.language import Language

RUBY = Language(
    name="ruby",
    aliases=("rb",),
    source="main.rb",
    toolchain="/usr/bin/ruby",
    package="ruby",
    image="polyglot-more",
    version=("/usr/bin/ruby", "--version"),
    run=("/bin/sh", "-c", 'ulimit -s 16384 && exec /usr/bin/ruby "$0"', "{source}"),
    start_s=0.2,
    memory_extra_mb=48,
    memory_signs=(b"NoMemoryError", b"failed to allocate memory"),
)
