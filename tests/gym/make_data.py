"""Makes each server's `data/example_metrics.json` and `data/example_rollouts.jsonl` anew, by NeMo Gym's own commands.

`python -m tests.gym.make_data`, in the environment of `make test-gym`, after a change of an example.jsonl. The policy
is the stub, which answers each row's prompt with the answer that the row has. `ng_test +should_validate_data=true` asks
for both files.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.conftest import TEMPROOT
from tests.documented import command as documented
from tests.gym.running import MODEL, Gym, figure, playing, started
from tests.gym.tasks import REPOSITORY

SERVERS: Final = {"coding": "coding", "math": "math_with_judge", "swe": "swe"}
"""Each server's folder, and the configuration whose data set is its example.jsonl."""


def config(server: str) -> str:
    return f"resources_servers/{server}/configs/{SERVERS[server]}.yaml"


def rows(server: str) -> list[dict[str, object]]:
    text = (REPOSITORY / "resources_servers" / server / "data" / "example.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def answer(row: dict[str, object]) -> str:
    """The text of the row's own answer."""
    if "response" in row:
        row = json.loads(json.dumps(row["response"]))["output"][0]["content"][0]
        return str(row["text"])
    return str(row["answer"])


def prompt(row: dict[str, object]) -> str:
    """What the stub is asked, by which it knows the row."""
    asked = json.loads(json.dumps(row["responses_create_params"]))["input"]
    return "\n".join(str(item["content"]) for item in asked if item["role"] == "user")


def write_metrics(folder: Path, environment: Mapping[str, str]) -> None:
    """NeMo Gym looks through all rows and writes what it saw beside each file of them."""
    for server in SERVERS:  # it writes a file of conflicts rather than change one
        (REPOSITORY / "resources_servers" / server / "data" / "example_metrics.json").unlink(missing_ok=True)
    configs = ",".join(map(config, SERVERS))
    call = ["ng_prepare_data", f"+config_paths=[{configs}]", f"+output_dirpath={folder / 'collated'}"]
    call += ["+mode=example_validation", f"hydra.run.dir={folder / 'hydra'}"]
    subprocess.run(call, cwd=REPOSITORY, env=environment, check=True, timeout=600)
    for made in (REPOSITORY / "resources_servers").glob("*/data/*_prepare.jsonl"):
        made.unlink()


def write_rollouts(server: str, gym: Gym) -> None:
    data = REPOSITORY / "resources_servers" / server / "data"
    out = gym.folder / f"{server}_rollouts.jsonl"
    command = "ng_collect_rollouts"
    named = {"rows.jsonl": str(data / "example.jsonl"), "rollouts.jsonl": str(out), "num_repeats=2": "num_repeats=1"}
    named["coding_simple_agent"] = f"{server}_simple_agent"
    gym.roll_out(documented("from-nemo-gym.md", command, named))
    found = sorted((json.loads(line) for line in out.read_text().splitlines()), key=lambda row: row["_ng_task_index"])
    (data / "example_rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in found))
    figure(f"{server}: {[row['reward'] for row in found]}")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="sg-"))
    os.environ.setdefault(TEMPROOT, str(folder))
    scripts = folder / "scripts.json"
    scripts.write_text(json.dumps({prompt(row): [{"say": answer(row)}] for name in SERVERS for row in rows(name)}))
    configs = ",".join([*map(config, SERVERS), MODEL])
    with playing(scripts) as port:
        swaps = {f"{config('coding')},{MODEL}": configs, "http://127.0.0.1:8000": f"http://127.0.0.1:{port}"}
        call = [*documented("from-nemo-gym.md", "ng_run", swaps), "++swe.resources_servers.swe.provider=local"]
        with started(folder, call, 2 * len(SERVERS) + 1) as gym:
            write_metrics(folder, gym.environment)
            for server in SERVERS:
                write_rollouts(server, gym)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
