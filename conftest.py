"""For all tests: anyio tests run on asyncio; state, also that of processes they start, is in a folder of its own."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

import pytest

if "SANDBOX_GYM_STATE_DIR" not in os.environ:
    os.environ["SANDBOX_GYM_STATE_DIR"] = tempfile.mkdtemp(prefix="sandbox-gym-tests-")
    atexit.register(shutil.rmtree, os.environ["SANDBOX_GYM_STATE_DIR"], ignore_errors=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
