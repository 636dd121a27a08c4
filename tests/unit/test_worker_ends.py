"""The parent of several workers notices at once that one of them died, also while it waits for its answer."""

from __future__ import annotations

import os
import signal
import threading
import time

import uvicorn
from uvicorn.supervisors.multiprocess import Process

from sandbox_gym.server.workers.parent import HEALTHCHECK_S, close_worker_ends


def test_a_worker_that_dies_while_it_is_asked_is_noticed_at_once() -> None:
    worker = Process(uvicorn.Config("none:none"), [])
    worker.start()
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)  # it answers nothing
    close_worker_ends([worker])
    death = threading.Timer(0.2, os.kill, (pid, signal.SIGKILL))
    death.start()
    began = time.monotonic()
    assert not worker.ping(HEALTHCHECK_S)
    assert time.monotonic() - began < HEALTHCHECK_S / 2
    worker.join()
    death.join()
    worker.parent_conn.close()
