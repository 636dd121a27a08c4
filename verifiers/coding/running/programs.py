"""Makes programs from sources: what is compiled first, what is started, and under which caps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from sandbox_gym.contract import Build, Program, Run
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.verifiers.coding.answers.folders import Sources, shadows, with_sources
from sandbox_gym.verifiers.coding.languages import Language

ISOLATED = "-I"
"""Python's option that hides modules beside the source."""
RECURSION_LIMIT = 50_000
"""As LiveCodeBench's prelude sets it."""
IMAGES = ("python", "polyglot", "polyglot-more")
COMPILE_LIMITS = Limits(
    cpu_time_s=30,
    wall_time_s=120,
    memory_bytes=1536 * MIB,
    file_bytes=96 * MIB,
    scratch_bytes=256 * MIB,
    stdout_bytes=48 * MIB,
    stderr_bytes=MIB,
)
"""A compiler's caps; what it makes is its standard output, at most `stdout_bytes`."""

_COMPILE = 'out=$0; "$@" >&2 </dev/null && exec cat -- "$out"'
_TRIES = "sandbox_gym_tries"
_COMPILE_AGAIN = (
    'out=$0 said=sandbox_gym_said tab="$(printf "\\t")"; "$@" >$said 2>&1 </dev/null && exec cat -- "$out"; code=$?;'
    ' while IFS=$tab read -r sign more; do grep -qE -- "$sign" $said && "$@" $more >/dev/null 2>&1 </dev/null &&'
    f' exec cat -- "$out"; done <{_TRIES}; cat $said >&2; exit $code'
)
"""Once more with further options where the compiler has said the sign of one of `_TRIES`."""


def encoded(text: str) -> bytes:
    """A source or an input as bytes for a program."""
    return text.encode("utf-8", "surrogatepass")


def image_for(*languages: Language) -> str:
    """The smallest image that has all of these languages; each of these images has what those before it have."""
    return max((language.image for language in languages), key=IMAGES.index)


def program_of(
    language: Language,
    code: str,
    limits: Limits,
    build: str,
    files: Mapping[str, bytes] | None = None,
    *,
    name: str = "",
    further: tuple[str, ...] = (),
    beside: bool = False,
) -> tuple[Program, Build | None]:
    """How a source is started, and the build of that name that it needs first, if it is compiled.

    `files`: further files that a compiler or an interpreter finds beside the source. `limits`: the program's own.
    `name`: the source's, where the program's files have names. `further`: those of `files` that are compiled with it.
    `beside`: an interpreter may load modules from the program's folder.
    """
    name = name or language.source_of(code)
    code = language.whole(code) if language.whole is not None else code
    sources = {**(files or {}), **language.build_files, name: encoded(code)}
    run = language.filled(language.run, name, limits)
    if beside and not language.compile:
        run = tuple(part for part in run if part != ISOLATED)
    if not language.compile:
        files = {**sources, **language.run_files}
        return Program("exec", files, main=name, argv=run, env=language.env, requires=(language.toolchain,)), None
    compiler, lists = with_sources(language.filled(language.compile, name, limits), name, further, language)
    texts = [sources[path] for path in (name, *further)]
    tries = "".join(f"{sign}\t{' '.join(options)}\n" for sign, *options in language.tries_for(texts))
    start = ("/bin/sh", "-c", _COMPILE_AGAIN if tries else _COMPILE, language.artifact)
    argv = (*start, *compiler, *language.options_for(texts))
    files = {**sources, **lists, **({_TRIES: tries.encode()} if tries else {})}
    program = Program("exec", files, main=name, argv=argv, env=language.env, requires=(language.toolchain,))
    made = Build(build, Run(f"compile {build}", program, limits=COMPILE_LIMITS), language.artifact)
    return Program(
        "exec", dict(language.run_files), main=language.artifact, argv=run, env=language.env, needs=(build,)
    ), made


def python_program(mode: Literal["fork", "call"], source: bytes) -> Program:
    """A Python program in a fork of the guest's interpreter, with LiveCodeBench's prelude."""
    return Program(mode, {"main.py": source}, recursion_limit=RECURSION_LIMIT, implicit_imports=True)


def answer_program(language: Language, code: str, limits: Limits) -> tuple[Program, Build | None, Limits]:
    """The answer's program, its build, and its limits."""
    if language.forks:
        return python_program("fork", encoded(code)), None, limits
    program, build = program_of(language, code, limits, "answer")
    return program, build, language.limits(limits)


def folder_program(language: Language, sources: Sources, limits: Limits) -> tuple[Program, Build | None, Limits]:
    """`answer_program` for an answer of several files. Files that are no sources stay beside the program when it
    runs."""
    files = {path: encoded(content) for path, content in sources.files.items()}
    further = sources.further(language)
    if language.forks and not shadows(files):
        program = python_program("fork", encoded(sources.code))
        return replace(program, files={**files, sources.main: encoded(sources.code)}, main=sources.main), None, limits
    program, build = program_of(
        language, sources.code, limits, "answer", files, name=sources.main, further=further, beside=True
    )
    if build is not None:
        data = [path for path in files if path not in further and path.partition("/")[0] not in language.own_files]
        program = replace(program, files={path: files[path] for path in data})
    return program, build, limits if language.forks else language.limits(limits)


def in_judges_box(build: Build | None) -> tuple[Build, ...]:
    return () if build is None else (replace(build, place="judge"),)
