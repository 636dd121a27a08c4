"""A served instance for tests: one real row, patches judged over HTTP, sessions with commands in them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.load.servers import ServerProcess
from tests.server.fakes import JSON

INSTANCE = "pathspec__pathspec-0.12.1"
"""The quickest of the rows: 52 tests in under a second, two lines of fix."""
DATA_SET = "swe_instances.jsonl"
VERIFY_S = 600.0

Document = dict[str, Any]


def rows(data_folder: Path) -> list[Document]:
    """Every row there is."""
    return [json.loads(line) for line in (data_folder / DATA_SET).read_text().splitlines()]


def row(data_folder: Path, instance_id: str = INSTANCE) -> Document:
    return next(one for one in rows(data_folder) if one["instance_id"] == instance_id)


def serving_swe(provider: str, folder: Path, **settings: str) -> ServerProcess:
    """`sandbox-gym serve swe` without a journal."""
    given = {"SANDBOX_GYM_JOURNAL_URL": "off", "SANDBOX_GYM_BOXES": "4", **settings}
    return ServerProcess(provider, folder, settings=given, server="swe")


def forget_images(folder: Path) -> None:
    """Remove from the Engine what a server's instances left in it; `folder` is above their state."""
    docker = os.environ.get("DOCKER", "docker")
    for index in folder.glob("**/instances/instances.json"):
        for one in json.loads(index.read_text()):
            for snapshot_id in filter(None, (one["snapshot_id"], one["tests_snapshot_id"])):
                image = f"sandbox-gym/snapshot:{snapshot_id}"
                subprocess.run([docker, "rmi", "-f", image], capture_output=True, check=True, timeout=120)


def request(row: Document, patch: str | None) -> Document:
    """A verify request; without a patch the session's work is judged."""
    answer = {} if patch is None else {"model_patch": patch}
    return {"responses_create_params": {"input": []}, **row, **answer, "response": {"output": []}}


class Client:
    """One caller; one session at most."""

    def __init__(self, url: str, row: Document) -> None:
        self.http = httpx.Client(base_url=url, timeout=VERIFY_S)
        self.row = row

    def post(self, path: str, body: Document) -> Document:
        reply = self.http.post(path, content=json.dumps(body), headers=JSON)
        assert reply.status_code == 200, reply.text[:2000]
        document: Document = reply.json()
        return document

    def seed(self) -> None:
        self.post("/seed_session", request(self.row, None))

    def bash(self, command: str) -> Document:
        return self.post("/bash", {"command": command, "timeout_s": 100})

    def verify(self, patch: str | None = None) -> Document:
        """The verdict on a patch, or on the session's work; never a masked sample."""
        found = self.post("/verify", request(self.row, patch))
        assert not found.get("mask_sample"), found.get("failure_reason")
        return found

    def close(self) -> None:
        self.http.close()
