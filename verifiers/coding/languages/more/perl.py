"""Perl 5."""

from sandbox_gym.verifiers.coding.languages.language import Language

PERL = Language(
    name="perl",
    aliases=("pl", "perl5"),
    source="main.pl",
    toolchain="/usr/bin/perl",
    package="perl",
    image="polyglot-more",
    version=("/usr/bin/perl", "-e", "print $^V"),
    run=("/usr/bin/perl", "{source}"),
    memory_signs=(b"Out of memory",),
)
