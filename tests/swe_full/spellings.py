"""Other ways to write a fix: each makes the same program, so that each must resolve its row and leave no sign.

A spelling changes the files of a repository to which the fix was applied; what differs from the base then is the patch.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandbox_gym.guest import sdist

AUTHOR = ("-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "init.defaultBranch=main")


class Repository:
    """A row's base as its sdist has it, in one commit."""

    def __init__(self, folder: Path, base: str) -> None:
        """`base`: NAME==VERSION. Downloads."""
        self.folder = folder / "repository"
        fetched = folder / "sdist"
        fetched.mkdir(parents=True)
        command = [sys.executable, sdist.__file__, base, str(fetched)]
        subprocess.run(command, check=True, timeout=120)
        (archive,) = fetched.iterdir()
        shutil.unpack_archive(archive, fetched, filter="data")
        archive.unlink()
        (fetched,) = (path for path in fetched.iterdir() if path.is_dir())
        shutil.move(fetched, self.folder)
        shutil.rmtree(self.folder / ".git", ignore_errors=True)
        (self.folder / ".gitattributes").unlink(missing_ok=True)
        self.git("init", "-q")
        self.git("add", "-Af", ".")
        self.git("commit", "-qm", "base")

    def git(self, *arguments: str, given: bytes = b"") -> bytes:
        command = ["git", *AUTHOR, *arguments]
        return subprocess.run(command, cwd=self.folder, input=given, capture_output=True, check=True).stdout

    def spelled(self, patch: str, spelling: Callable[[Fix], None]) -> str:
        """The patch that the spelling makes of the fix; empty where it changes nothing."""
        self.git("reset", "-q", "--hard")
        self.git("clean", "-fdqx")
        self.git("apply", "--whitespace=nowarn", given=patch.encode("utf-8", "surrogateescape"))
        plain = self._difference()
        touched = self.git("diff", "--cached", "--name-only", "--diff-filter=AM", "HEAD").decode().split()
        spelling(Fix(self.folder, tuple(name for name in touched if name.endswith(".py"))))
        found = self._difference()
        return "" if found == plain else found.decode("utf-8", "surrogateescape")

    def _difference(self) -> bytes:
        self.git("add", "-Af", ".")
        return self.git("diff", "--cached", "--binary", "-M", "-C", "--find-copies-harder", "HEAD")


@dataclass(frozen=True)
class Fix:
    """A repository with the fix in it, and the Python files that the fix touches."""

    folder: Path
    touched: tuple[str, ...]

    def rewrite(self, change: Callable[[str], str]) -> None:
        """Each touched file that has code, by its text; what no longer parses stays as it was."""
        for name in self.touched:
            path = self.folder / name
            before = path.read_bytes().decode("utf-8")
            after = change(before)
            try:
                ast.parse(after)
            except SyntaxError:
                continue
            path.write_bytes(after.encode("utf-8"))

    @property
    def package(self) -> Path:
        return (self.folder / self.touched[0]).parent
