"""What a language is to a judge: how its source is named, compiled and run, and what its start costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from sandbox_gym.limits import MIB, Limits

T = TypeVar("T")
NAME_MAX = 200
"""Bytes of a file's name that an answer may choose: what a compiler adds to it must fit into 255 too."""


def literally(text: str) -> str:
    """A part of `compile` or `run` that is passed on as it stands."""
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True, slots=True)
class Language:
    """One language. In `compile` and `run`, `{source}`, `{artifact}` and `{memory_mb}` (the row's memory limit) are
    filled in; `literally` protects what holds braces of its own."""

    name: str
    aliases: tuple[str, ...]
    """Other names that rows give it; all are tags of fenced blocks too."""
    source: str
    toolchain: str
    """The program without which nothing works, as an absolute path."""
    package: str
    """Debian's packages that it needs, with blanks between."""
    version: tuple[str, ...]
    """What prints its version."""
    run: tuple[str, ...]
    compile: tuple[str, ...] = ()
    compile_options: Callable[[bytes], tuple[str, ...]] | None = None
    """What a source allows its compiler: options behind those of `compile`, used where all sources allow the same."""
    tries: Callable[[bytes], tuple[tuple[str, ...], ...]] | None = None
    """How a source that is refused is compiled once more, in this order: what the compiler must have said (for grep
    -E), and the options, which hold no blanks. What it said first is told where none of them compiles it."""
    npm: str = ""
    """npm's package with its version that brings the toolchain, where no Debian package does."""
    image: str = "polyglot"
    """The smallest of our images that has its toolchain."""
    endings: tuple[str, ...] = ()
    """Of its files, where they have more than that of `source`."""
    several: Literal["found", "listed", "beside", "named", "alone"] = "found"
    """How a compiler gets several sources: it finds what the main one names; a file lists all in place of one; a file
    lists the others; each by name. `alone`: not at all."""
    artifact: str = ""
    """The one file that `compile` leaves and `run` needs."""
    time_factor: float = 1.0
    """A row's CPU time limit is multiplied by this, then `start_s` is added."""
    start_s: float = 0.0
    memory_extra_mb: int = 0
    """What the runtime itself takes beside the program's own memory."""
    env: Mapping[str, str] = field(default_factory=dict)
    memory_signs: tuple[bytes, ...] = ()
    """In the last of stderr: the program was ended by its runtime for want of memory."""
    source_stem: Callable[[str], str | None] | None = None
    """Where the source itself may decide its name: what stands in place of `source`'s stem."""
    whole: Callable[[str], str] | None = None
    """Completes a source that leaves out what every program begins with."""
    build_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files of ours that `compile` finds beside the source."""
    run_files: Mapping[str, bytes] = field(default_factory=dict)
    """Files of ours that `run` finds beside the artifact."""
    asserting: Language | None = None
    """The same with its assertions on, where a switch decides that. Contests run without."""
    fences: tuple[str, ...] = ()
    """Further tags of fenced blocks that hold it."""
    forks: bool = False
    """Runs as a fork of the guest's own interpreter, which costs a tenth of a start."""

    @property
    def installation(self) -> str:
        """The command that installs it on this machine."""
        npm = f" && npm install --global --prefix /usr/local {self.npm}" if self.npm else ""
        return f"apt-get install {self.package}{npm}"

    @property
    def own_files(self) -> frozenset[str]:
        """Names that are taken in its programs' folders, beside the source's."""
        return frozenset({self.artifact, *self.build_files, *self.run_files} - {""})

    @property
    def suffixes(self) -> tuple[str, ...]:
        return self.endings or (self.source[self.source.index(".") :],)

    @property
    def tags(self) -> frozenset[str]:
        return frozenset({self.name, *self.aliases})

    def limits(self, limits: Limits) -> Limits:
        """A row's limits as this language needs them."""
        extra_s = limits.cpu_time_s * (self.time_factor - 1) + self.start_s
        return replace(
            limits,
            cpu_time_s=limits.cpu_time_s + extra_s,
            wall_time_s=limits.wall_time_s + 3 * extra_s,
            memory_bytes=limits.memory_bytes + self.memory_extra_mb * MIB,
        )

    def source_of(self, code: str) -> str:
        """The file name of a source; one that no file can have is for the compiler to complain about."""
        stem = self.source_stem(code) if self.source_stem is not None else None
        name = stem + self.source[self.source.rindex(".") :] if stem else self.source
        return name if len(name.encode("utf-8", "replace")) <= NAME_MAX else self.source

    def options_for(self, sources: Iterable[bytes]) -> tuple[str, ...]:
        """Further options of the compiler for a program of these sources."""
        return _agreed(self.compile_options, sources)

    def tries_for(self, sources: Iterable[bytes]) -> tuple[tuple[str, ...], ...]:
        """`tries` for a program of these sources."""
        return _agreed(self.tries, sources)

    def filled(self, argv: tuple[str, ...], source: str, limits: Limits) -> tuple[str, ...]:
        """`argv` for one source under a row's limits."""
        values = {"source": source, "artifact": self.artifact, "memory_mb": str(limits.memory_bytes // MIB)}
        return tuple(part.format_map(values) for part in argv)


def _agreed(options: Callable[[bytes], tuple[T, ...]] | None, sources: Iterable[bytes]) -> tuple[T, ...]:
    allowed = set() if options is None else {options(source) for source in sources}
    return allowed.pop() if len(allowed) == 1 else ()
