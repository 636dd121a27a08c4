"""An answer of several files: fenced blocks that say which file each is. Pure.

A block's file is named by the words behind its opening fence (```` ```cpp main.cpp ````, `title="main.cpp"`,
```` ```cpp:main.cpp ````) or by a comment that is its whole first line (`// main.cpp`). Of two blocks with one name the
last counts; blocks without a name are no files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.answers.extract import blocks_of, extract_code
from sandbox_gym.verifiers.coding.answers.folders import MAX_FILES, Sources, is_path, is_source, main_file
from sandbox_gym.verifiers.coding.languages import LANGUAGES, Language

_KEYED = re.compile(r"(?:title|file|filename|name|path)=[\"']?([^\"'\s]+)[\"']?")
_COMMENT = re.compile(
    r"(?:#|//|--|;|/\*|\(\*)[ \t]*(?:[Ff]ile(?:name)?:?[ \t]+)?([\w./+-]+)[ \t]*(?:\*/|\*\))?", re.ASCII
)
_COMMENT_MAX = 300
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9+]*\Z", re.ASCII)
_BESIDE = (".h", ".hpp", ".hh", ".hxx", ".txt", ".json", ".csv", ".dat")
_FILES = (*_BESIDE, *(ending for language in LANGUAGES for ending in language.suffixes))
"""What a comment may call a file; behind a fence any ending will do."""
_MAIN = "main"
"""A word behind a fence: the program begins with this file."""


def sources_of(text: str, language: Language, given: Mapping[str, str] | None = None) -> Sources | None:
    """The answer's program, where it names files. `given`: files of the row beside them, which replace the answer's of
    the same names; an answer that names none is one file beside them. None where no file can be the main one."""
    files, chosen, beside = dict[str, str](), "", given or {}
    for info, body in blocks_of(text, language):
        name, is_main = _named(info, body)
        if name and _fits(name, {**files, **beside}):
            files.pop(name, None)  # the last named one stands last
            files[name] = body
            chosen = name if is_main else chosen
    if not files and beside:
        code = extract_code(text, language)
        name = language.source_of(code or "")
        files = {} if code is None else {name if is_path(name) else language.source: code}
    if not files or language.several == "alone":
        return None
    files = {**files, **beside}
    main = chosen if chosen in files else main_file(files, language) or _last_source(files, language)
    if main is None or not files[main].strip():
        return None
    return Sources(main, files[main], {name: body for name, body in files.items() if name != main})


def _named(info: str, body: str) -> tuple[str, bool]:
    """The file of a block, "" where it has none, and whether the program begins with it."""
    words = info.split()
    keyed = _KEYED.search(info)
    told = [keyed[1]] if keyed else [word.rpartition(":")[2] for word in words[1:] if word != _MAIN]
    if words and not keyed:
        tag, colon, name = words[0].partition(":")
        told.insert(0, name if colon else tag)
    is_main = _MAIN in words[1:]
    for word in told:
        if _ENDING.search(word) and is_path(word):
            return word, is_main
    comment = _COMMENT.fullmatch(body[:_COMMENT_MAX].partition("\n")[0].strip())
    if comment and comment[1].endswith(_FILES) and is_path(comment[1]):
        return comment[1], is_main
    return "", False


def _fits(name: str, files: Mapping[str, str]) -> bool:
    """Whether a folder can hold this file beside the others: no path is a folder of another."""
    if len(files) >= MAX_FILES and name not in files:
        return False
    return not any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in files)


def _last_source(files: Mapping[str, str], language: Language) -> str | None:
    return next((name for name in reversed(list(files)) if is_source(name, language)), None)


def fenced_files(sources: Sources, language: Language) -> str:
    """An answer text from which exactly these files are extracted. Raises RequestError where there is none."""
    fence = "~" * 40
    parts = [f"{fence}{language.name} {name}\n{body}\n{fence}" for name, body in sources.files.items()]
    parts.append(f"{fence}{language.name} {sources.main} {_MAIN}\n{sources.code}\n{fence}")
    text = "\n".join(parts)
    if sources_of(text, language) != sources:
        raise RequestError("files", "can't be told from the text around them", "send files without fences and tags")
    return text
