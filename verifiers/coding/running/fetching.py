"""Fetches files that a program leaves, and puts files at absolute paths of the box before it starts: both in the box,
as the program's own user.

A small program does the one, starts the other program, and appends the fetched files to its own standard output, behind
a mark. The files are no more trusted than the program's output; no path leads out of the box. No link is followed, but
for folders of absolute paths.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Final

from sandbox_gym.contract import Program

FETCHED_BYTES: Final = 8 << 20
"""The most of all files of one run, together."""
STARTER: Final = ".sandbox_gym_starter.py"
"""A name that no file of the program's may have."""
_PLACED: Final = ".sandbox_gym_placed"
_TEMPLATE: Final = """
import base64, errno, json, os, shutil, signal, stat, subprocess, sys

def fetched(path):
    absolute = path.startswith("/")  # /tmp itself may be a link of the box's
    folder = os.open(os.path.dirname(path) if absolute else ".", os.O_RDONLY | os.O_DIRECTORY)
    *folders, name = [os.path.basename(path)] if absolute else path.split("/")
    for each in folders:
        folder = os.open(each, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        raise OSError("no file")
    with open(file, "rb") as opened:
        return opened.read(LEFT + 1)

LEFT, ARGV, PATHS, MARK, PLACED = %s
SHORT = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ENOBUFS)

def unless_short(error):
    if error.errno in SHORT:  # none of the program's doing: to end by this signal is to be run once more
        os.kill(os.getpid(), signal.SIGKILL)

for number, path in enumerate(PLACED):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.move("FOLDER/%%d" %% number, path)
    except OSError as error:
        unless_short(error)
        sys.exit("sandbox: %%s can't be written: %%s" %% (path, error.strerror))
if PLACED:
    shutil.rmtree("FOLDER")
if ARGV[0] and ARGV[0].startswith("./"):
    os.chmod(ARGV[0], 0o755)
try:
    code = subprocess.call([sys.executable or "python3" if part is None else part for part in ARGV])
except OSError as error:
    unless_short(error)
    raise
files = {}
for path in PATHS:
    try:
        content = fetched(path)
    except OSError as error:
        unless_short(error)
        continue
    if len(content) <= LEFT:
        LEFT -= len(content)
        files[path] = base64.b64encode(content).decode()
out = memoryview(MARK.encode() + json.dumps(files).encode() if PATHS else b"")
while out:
    out = out[os.write(1, out):]
if code < 0:
    signal.signal(-code, signal.SIG_DFL) if -code not in (signal.SIGKILL, signal.SIGSTOP) else None
    os.kill(os.getpid(), -code)
os._exit(code if code >= 0 else 1)
""".replace("FOLDER", _PLACED)


def fetching(program: Program, paths: Sequence[str], mark: str, placed: Mapping[str, bytes]) -> Program:
    """A program that writes `placed` at absolute paths, runs this one, then prints `mark` and those of the files that
    exist."""
    argv: tuple[str | None, ...] = program.argv if program.mode == "exec" else (None, program.main)
    source = _TEMPLATE % repr((FETCHED_BYTES, list(argv), list(paths), mark, list(placed)))
    contents = {f"{_PLACED}/{number}": content for number, content in enumerate(placed.values())}
    files = {**program.files, **contents, STARTER: source.encode("utf-8", "surrogatepass")}
    return Program("fork", files, main=STARTER, env=program.env, requires=program.requires, needs=program.needs)


def told_apart(stdout: bytes, mark: str, paths: Sequence[str]) -> tuple[bytes, Mapping[str, bytes]]:
    """(the program's output, the files); no files where the program was killed before they could be read."""
    said, found, told = stdout.rpartition(mark.encode())
    if not found:
        return stdout, {}
    try:
        document: object = json.loads(told)
    except (ValueError, RecursionError):
        return said, {}
    files = document if isinstance(document, dict) else {}
    return said, {path: content for path in paths if (content := _decoded(files.get(path))) is not None}


def _decoded(value: object) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None
