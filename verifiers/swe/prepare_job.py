"""The job of prepare.py: how patch and tests come into the repository, and the channel's first lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from sandbox_gym.verifiers.swe.inverted import runs_of
from sandbox_gym.verifiers.swe.job import SweJob
from sandbox_gym.verifiers.swe.patches.diff import PatchReading
from sandbox_gym.verifiers.swe.reference import MAX_FILE_BYTES, Inversion, Reference

CHANNEL_FD: Final = 3


def prepare_json(job: SweJob, reading: PatchReading, restore: Sequence[str], watch: Sequence[str], nonce: str) -> bytes:
    """The job of a run. `reading`: of the patch; `restore`: paths to put back after it; `watch`: the argument
    vector that follows."""
    inversion = job.inversion or Inversion()
    rewrites = [
        (path, inversion.digests[path], [(edit.start, edit.end, edit.text) for edit in edits])
        for path, edits in inversion.edits.items()
    ]
    told = {
        "workdir": job.checkout.workdir,
        "commit": job.checkout.commit,
        "reverse": job.purpose == "reference" and job.task.patch_is_bug,
        "names": reading.paths if job.purpose != "reference" else None,
        "headed": reading.headed,
        "bare": reading.bare,
        "restore": restore,
        "channel_fd": CHANNEL_FD,
        "nonce": nonce,
        "says": _says(job),
        "reads": job.reads,
        "read_bytes": MAX_FILE_BYTES,
        "rewrites": rewrites,
        "watch": watch,
    }
    return json.dumps(told).encode("ascii")


def lines_said(job: SweJob) -> int:
    """How many lines the channel has before the watcher's first."""
    return len(_says(job)) + len(job.reads)


def _says(job: SweJob) -> list[dict[str, object]]:
    """What a run's record is to hold of what it was asked, so that it can be judged again from the record alone."""
    said = [] if job.reference is None else [_reference(job.reference)]
    if job.inversion is not None:
        asked = job.inversion
        more = {"statuses": dict(asked.must_fail), "how": dict(asked.how), "unchanged": list(asked.unchanged)}
        says = {test: list(ended) for test, ended in asked.must_say.items()}
        said.append({"kind": "inversion", "says": says, **more})
    return said


def _reference(known: Reference) -> dict[str, object]:
    return {
        "kind": "reference",
        "statuses": dict(known.statuses),
        "signs": {name: list(seen) for name, seen in known.signs.items()},
        "ran": known.ran,
        "runs": runs_of(known),
        "why_none": known.why_none,
        "fails": list(known.fails),
    }
