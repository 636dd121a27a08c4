"""Processes of this machine as /proc shows them. One that ends meanwhile has no children, files or text."""

from __future__ import annotations

import os
from pathlib import Path


def text_of(pid: int, file: str) -> str:
    """A file of a process in /proc; empty where the process is gone."""
    try:
        return Path(f"/proc/{pid}/{file}").read_text(errors="replace")
    except OSError:
        return ""


def state_of(pid: int) -> str:
    """The kernel's letter (`R`, `S`, `T`, `Z`, ...); empty where the process is gone."""
    return _fields(pid)[0]


def parent_of(pid: int) -> int | None:
    """None where the process is gone."""
    return int(_fields(pid)[1] or 0) or None


def children(pid: int) -> list[int]:
    """Of any of its threads."""
    tasks = _entries(pid, "task")
    return [int(child) for task in tasks for child in text_of(pid, f"task/{task}/children").split()]


def below(pid: int) -> list[int]:
    """Children, their children, and so on."""
    return [one for child in children(pid) for one in (child, *below(child))]


def open_files(pid: int) -> list[str]:
    """Where its descriptors lead, as the kernel names it."""
    found = []
    for number in _entries(pid, "fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{number}"))
        except OSError:
            continue
    return found


def _fields(pid: int) -> list[str]:
    """State and parent of a process, beyond its name, which may hold anything."""
    return text_of(pid, "stat").rpartition(")")[2].split()[:2] or ["", ""]


def _entries(pid: int, folder: str) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/{folder}")
    except OSError:
        return []
