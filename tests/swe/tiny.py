"""A package index on this machine with a project made on the spot, so that builds need no network."""

from __future__ import annotations

import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Document = dict[str, object]
WHEEL = "wheel-99-py3-none-any.whl"
FIX = "--- a/tiny.py\n+++ b/tiny.py\n@@ -1,2 +1,2 @@\n def double(n):\n-    return n\n+    return n + n\n"
TEST = (
    "import unittest\nimport tiny\n\n\nclass Doubles(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(tiny.double(3), 6)\n"
)


def _wheel() -> bytes:
    """What every environment gets beside its packages."""
    info = "wheel-99.dist-info"
    files = {
        "wheel_of_nothing.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: wheel\nVersion: 99\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def _sdist(version: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, text in {"tiny.py": "def double(n):\n    return n\n", "VERSION": version}.items():
            entry = tarfile.TarInfo(f"tiny-{version}/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


class TinyIndex:
    """`asked`: every path that was asked for."""

    def __init__(self, url: str) -> None:
        self.url, self.asked = url, list[str]()
        self.files = {f"tiny-{one}.tar.gz": _sdist(one) for one in ("1", "2")} | {WHEEL: _wheel()}

    def page(self, path: str) -> bytes | None:
        self.asked.append(path)
        *_, folder, name = path.split("/")
        if folder == "files":
            return self.files.get(name)
        listed = [file for file in self.files if file.startswith(f"{folder}-")]
        return "".join(f'<a href="/files/{file}">{file}</a>' for file in listed).encode() if listed else None

    @property
    def environment(self) -> dict[str, str]:
        """For a process whose builds are to know this index alone."""
        host = self.url.split("/")[2].partition(":")[0]
        none = {f"PIP_{name}": "" for name in ("EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX")}
        return {**none, "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": self.url, "PIP_TRUSTED_HOST": host}


@contextmanager
def tiny_index() -> Iterator[TinyIndex]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = index.page(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Not on the test's screen."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        index = TinyIndex(f"http://127.0.0.1:{server.server_port}/simple")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield index
        finally:
            server.shutdown()
            thread.join()


def tiny_row(version: str = "1", *install: str, **environment: object) -> Document:
    """A row of the project, whose one test is unittest's."""
    added = "".join(f"+{line}" for line in TEST.splitlines(keepends=True))
    return {
        "instance_id": f"tiny__tiny-{version}" + "".join(f"-{len(one)}" for one in install),
        "repo": "tiny",
        "environment": {"source": f"tiny=={version}", "install": list(install), **environment},
        "patch": FIX,
        "test_patch": f"--- /dev/null\n+++ b/test_tiny.py\n@@ -0,0 +1,7 @@\n{added}",
        "FAIL_TO_PASS": ["test_tiny.Doubles.test_double"],
        "PASS_TO_PASS": [],
        "runner": "unittest",
    }
