"""A bounded reader of unified diffs: which files a patch touches, and how; it applies nothing.

A reading, not a promise: `git apply` and `patch` guess in their own ways at a damaged diff, so what a patch really
touched is what git says after it was applied. This decides beforehand what is refused, flagged and restored. One pass
over the lines, whatever the diff. Format: git's diff-generate-patch(7), and traditional `---`/`+++` headers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from sandbox_gym.verifiers.swe.patches.paths import refusal

MAX_BYTES = 16 << 20
MAX_LINES = 1_000_000
MAX_FILES = 5_000

Kind = Literal["modify", "create", "delete", "rename", "copy"]

_HUNK = re.compile(rb"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_DATE = re.compile(rb"(?<! ) +[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+(?: [-+][0-9]{4})?$")
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_QUOTED = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_PREFIXES = ("a/", "b/", "c/", "i/", "o/", "w/")
"""That git puts before names, by what it compares."""
_SYMLINK, _SUBMODULE = "120000", "160000"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a patch does to one file. Paths are relative to the repository, undecodable bytes as surrogates."""

    path: str
    kind: Kind = "modify"
    old_path: str = ""
    """Of a rename or copy, or the other name in headers that disagree."""
    binary: bool = False
    mode: str = ""
    """The new mode where the patch names one: `100755`, `120000` for a symbolic link, `160000` for a submodule."""
    added: int = 0
    removed: int = 0

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.old_path, self.path) if self.old_path else (self.path,)


@dataclass(frozen=True, slots=True)
class PatchReading:
    """What a patch would do. `problem`: why it is refused, or empty. `damage`: where it is no well-formed diff, or
    empty; the tools that apply it may still make something of it."""

    changes: tuple[FileChange, ...] = ()
    problem: str = ""
    damage: str = ""
    end: int = 0
    """The offset after the last line that belongs to the patch: prose may follow it."""
    headed: bool = False
    """Every file has git's own header, by which git alone names it; other headers are read by guesses."""
    bare: bool = False
    """No name has a first part that tells the sides apart, as `git diff --no-prefix` writes them: `changes` has both
    readings of each, as `-p1` and as `-p0` have it."""
    missing_lines: int = 0
    """How many context lines the last hunk lacks at the patch's end, all else being well."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the patch names, each once."""
        return tuple(dict.fromkeys(path for change in self.changes for path in change.paths))


@dataclass(slots=True)
class _File:
    named: str = ""
    """By the `diff --git` line."""
    old: str = ""
    new: str = ""
    kind: Kind = "modify"
    renamed_from: str = ""
    binary: bool = False
    mode: str = ""
    added: int = 0
    removed: int = 0
    headed: bool = False
    """Its `---` and `+++` lines were read."""
    bare: str = ""
    """The whole name, where both sides have it, without a side's own first part; a rename's new one."""
    sides: bytes = b""
    """Of the `diff --git` line."""
    moved: tuple[bytes, bytes] = (b"", b"")
    """As a rename or a copy says its names, which never have a part for the side."""
    extends: bool = True
    """Lines of git's header may follow: none stands behind a hunk or any other line."""

    def change(self) -> FileChange:
        path = self.new or self.old or self.named
        return FileChange(path, self.kind, self.renamed_from, self.binary, self.mode, self.added, self.removed)


@dataclass(slots=True)
class _Reader:
    lines: list[bytes]
    at: int = 0
    last: int = 0
    """The number of lines up to the last that belongs to the patch."""
    files: list[_File] = field(default_factory=list)
    damage: str = ""
    missing: int = 0

    def read(self) -> None:
        while self.at < len(self.lines) and len(self.files) <= MAX_FILES:
            line = self.lines[self.at]
            self.at += 1
            if line.startswith(b"diff --git "):
                self.files.append(_File(named=_named(line[11:]), bare=_same(line[11:]), sides=line[11:].rstrip(b"\r")))
            elif line.startswith(b"--- ") and self._next_starts(b"+++ "):
                self._header(line)
            elif line.startswith(b"@@ -"):
                self._hunk(line)
            elif not (self.files and self.files[-1].extends and self._extended(self.files[-1], line)):
                self._close()
                continue  # prose, or a line of an index
            self.last = self.at

    def _close(self) -> None:
        if self.files:
            self.files[-1].extends = False

    def _next_starts(self, prefix: bytes) -> bool:
        return self.at < len(self.lines) and self.lines[self.at].startswith(prefix)

    def _header(self, line: bytes) -> None:
        """`---` and `+++`: of the file that `diff --git` began, or of a new one."""
        if not self.files or self.files[-1].headed:
            self.files.append(_File(extends=False))
        file = self.files[-1]
        file.headed = True
        sides = _name(line[4:]), _name(self.lines[self.at][4:])
        old, new = map(_stripped, sides)
        if not (file.bare and sides == (file.renamed_from, file.bare)):
            file.bare = _bare(*sides)
        self.at += 1
        file.old, file.new = old, new
        if not old:
            file.kind = "create"
        elif not new:
            file.kind = "delete"
        elif (
            old != new and not file.renamed_from
        ):  # git takes one name or makes it a rename, patch(1) takes what exists
            file.renamed_from = old if file.named else new
            file.new = new if file.named else old

    def _extended(self, file: _File, line: bytes) -> bool:
        """One of git's header lines; false where it is none."""
        if line.startswith((b"new file mode ", b"deleted file mode ")):
            file.kind = "create" if line.startswith(b"new") else "delete"
            file.mode = _word(line) if file.kind == "create" else file.mode
        elif line.startswith(b"new mode "):
            file.mode = _word(line)
        elif line.startswith((b"rename from ", b"rename old ", b"copy from ")):
            file.kind = "rename" if line.startswith(b"rename") else "copy"
            file.renamed_from = _unquoted(line.split(b" ", 2)[2])
            file.moved = line.split(b" ", 2)[2].rstrip(b"\r"), file.moved[1]
        elif line.startswith((b"rename to ", b"rename new ", b"copy to ")):
            file.new = _unquoted(line.split(b" ", 2)[2])
            file.moved = file.moved[0], line.split(b" ", 2)[2].rstrip(b"\r")
            if b" ".join(file.moved) == file.sides and not any(map(_is_sided, file.moved)):
                file.bare = file.new
        elif line.startswith(b"index ") and line.endswith(b" " + _SUBMODULE.encode()):
            file.mode = _SUBMODULE
        elif line.startswith(b"index ") and line.endswith(b" " + _SYMLINK.encode()):
            file.mode = _SYMLINK
        elif line == b"GIT binary patch":
            self._binary(file)
        elif line.startswith(b"Binary files ") and line.endswith(b" differ"):
            file.binary = True
        else:
            return line.startswith((b"old mode ", b"similarity ", b"dissimilarity ", b"index "))
        return True

    def _binary(self, file: _File) -> None:
        """The literals and deltas up to the next file; base85 has no blank, so no header hides among them."""
        file.binary = True
        self._close()
        while self.at < len(self.lines) and not self.lines[self.at].startswith((b"diff --git ", b"--- ")):
            self.at += 1

    def _hunk(self, line: bytes) -> None:
        self._close()
        match = _HUNK.match(line)
        if match is None or not self.files:
            self._damaged("a hunk without counts" if self.files else "a hunk before any file")
            return
        file = self.files[-1]
        old, new = (1 if count is None else int(count) for count in match.groups())
        while (old or new) and self.at < len(self.lines):
            mark = self.lines[self.at][:1]
            if mark == b"+" and new:
                new -= 1
                file.added += 1
            elif mark == b"-" and old:
                old -= 1
                file.removed += 1
            elif mark in (b" ", b"\t", b"", b"\r") and old and new and not self._is_end():
                old -= 1
                new -= 1
            elif mark != b"\\":
                break
            self.at += 1
        if self._next_starts(b"\\ "):
            self.at += 1
        if old or new:
            self.missing = old if old == new and self._is_end() else 0
            self._damaged(f"a hunk of {file.change().path[:80]!r} is shorter than its counts")

    def _is_end(self) -> bool:
        """Whether only the piece after the last newline is left."""
        return self.at >= len(self.lines) - 1 and not (self.at < len(self.lines) and self.lines[self.at])

    def _damaged(self, what: str) -> None:
        self.damage = self.damage or f"{what} (line {self.at})"


def patch_bytes(text: str) -> bytes:
    """A patch as it was: what is no UTF-8 in it is there as lone surrogates. Others, as models write halves of an
    emoji, stand for nothing that a file could hold."""
    return _NO_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def read_patch(data: bytes) -> PatchReading:
    """What the patch touches. Beyond the bounds nothing is read, and `problem` says so."""
    if len(data) > MAX_BYTES:
        return PatchReading(problem=f"the patch has {len(data)} bytes; at most {MAX_BYTES} are taken")
    if data.count(b"\n") > MAX_LINES:
        return PatchReading(problem=f"the patch has more than {MAX_LINES} lines")
    lines = data.split(b"\n")
    reader = _Reader(lines)
    reader.read()
    if len(reader.files) > MAX_FILES:
        return PatchReading(problem=f"the patch touches more than {MAX_FILES} files")
    changes = tuple(file.change() for file in reader.files)
    bare = all(file.bare for file in reader.files)
    if bare:
        changes += tuple(replace(change, path=file.bare) for file, change in zip(reader.files, changes, strict=True))
    end = min(len(data), sum(map(len, lines[: reader.last])) + reader.last)
    headed = all(file.named for file in reader.files)
    return PatchReading(changes, _problem(changes, data), reader.damage, end, headed, bare, reader.missing)


def _problem(changes: tuple[FileChange, ...], data: bytes) -> str:
    if not changes:
        return "it is no diff: no file is named in it" if data.strip() else "the patch is empty"
    for change in changes:
        for path in change.paths:
            reason = refusal(path)
            if reason:
                return f"{path[:120]!r} may not be patched: {reason}"
        if change.mode == _SUBMODULE:
            return f"{change.path[:120]!r} may not be patched: it is a submodule"
    return ""


def is_symlink(change: FileChange) -> bool:
    return change.mode == _SYMLINK


def _word(line: bytes) -> str:
    return line.rsplit(b" ", 1)[1].decode("ascii", "replace").strip()


def _name(raw: bytes) -> str:
    """The whole path of a `---` or `+++` line; empty for /dev/null."""
    raw = raw.rstrip(b"\r")
    name = _unquoted(raw.rstrip(b"\t") if raw.startswith(b'"') else _DATE.sub(b"", raw.partition(b"\t")[0]))
    return "" if name == "/dev/null" else name


def _bare(old: str, new: str) -> str:
    """The name that both sides have, or the one that there is; empty where a first part tells them apart."""
    name = old or new
    return "" if (old and new and old != new) or name.startswith(_PREFIXES) else name


def _is_sided(raw: bytes) -> bool:
    return _unquoted(raw).startswith(_PREFIXES)


def _same(raw: bytes) -> str:
    """The same of a `diff --git` line."""
    raw = raw.rstrip(b"\r")
    left, right = raw[: len(raw) // 2], raw[len(raw) // 2 + 1 :]
    return _bare(_unquoted(left), _unquoted(right)) if left == right else ""


def _stripped(name: str) -> str:
    """Less the first part, as `-p1` has it; an absolute path stays what it is."""
    first, slash, rest = name.partition("/")
    return rest if slash and first else name


def _named(raw: bytes) -> str:
    """The path of a `diff --git` line whose two sides are the same, as git itself reads it: one half of the line."""
    raw = raw.rstrip(b"\r")
    if raw.endswith(b'"') and b' "' in raw:
        return _stripped(_unquoted(raw[raw.rindex(b' "') + 1 :]))
    half = len(raw) // 2
    left, right = _unquoted(raw[:half]), _unquoted(raw[half + 1 :])
    if len(raw) % 2 and raw[half : half + 1] == b" " and _stripped(left) == _stripped(right):
        return _stripped(right)
    return _stripped(_unquoted(raw.rpartition(b" ")[2]))


def _unquoted(raw: bytes) -> str:
    """A path as git writes it: in quotes with C's escapes where it has odd bytes."""
    raw = raw.rstrip(b"\r")
    if len(raw) >= 2 and raw.startswith(b'"') and raw.endswith(b'"'):
        raw = _QUOTED.sub(_unescaped, raw[1:-1])
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if code.isdigit() and len(code) == 3 else _ESCAPES.get(code, code)
