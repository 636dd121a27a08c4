"""The waits of a test's threads, which the watcher reads while they come and go."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from sandbox_gym.verifiers.swe.channel import watch


def test_a_thread_that_ends_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list of threads and the reading of their waits."""
    listed: Callable[[str], list[str]] = os.listdir
    stop = threading.Event()
    threads = [threading.Thread(target=stop.wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        monkeypatch.setattr(os, "listdir", lambda path: ["999999999", *listed(path)])
        living = {f"/proc/{os.getpid()}/task/{thread.native_id}/" for thread in threads}
        found = watch.waits(os.getpid())  # type: ignore[no-untyped-call]  # a script of the box
        assert living <= found.keys()
    finally:
        stop.set()
        for thread in threads:
            thread.join()
