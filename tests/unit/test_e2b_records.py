"""What the pool keeps on disk of snapshots, also as earlier versions wrote it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from sandbox_gym.e2b_server.sandboxes.records import Image, Records


def test_a_snapshot_of_an_earlier_version_keeps_its_name(tmp_path: Path) -> None:
    records = Records(tmp_path)
    image = Image("1", "default", "base", "i1", 1.0, names=("new:default", "new:v1"))
    records.write(image)
    for number, name in (("2", "mine"), ("3", "")):
        earlier = {**asdict(image), "snapshot_id": number, "names": [], "name": name}
        (tmp_path / f"snapshot-{number}.json").write_text(json.dumps(earlier))
    found = {one.snapshot_id: list(one.names) for one in records.images()}
    assert found == {"1": ["new:default", "new:v1"], "2": ["mine:default"], "3": []}
