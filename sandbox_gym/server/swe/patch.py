"""The work of an agent as a patch: everything in its session's repository that differs from the base commit.

Untracked files and what the agent committed belong to it. What running tests leaves, bytecode and pytest's cache, does
not, unless it was committed. git runs in the sandbox, on the candidate's own repository, so nothing is believed of the
patch but that the candidate hands it in. It takes one call of the session's driver.
"""

from __future__ import annotations

import re
import shlex
from collections import OrderedDict
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.sandbox.session.client import MAX_FILE_BYTES, Command, SessionClient

PATCH_TIMEOUT_S: Final = 120.0
MAX_PATCH_BYTES: Final = MAX_FILE_BYTES - 8192
"""16 MiB with what git says beside it."""
MAX_KEPT_BYTES: Final = 256 << 20
MAX_KEPT: Final = 10_000
_BASE = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/-]{0,199}")
# An index of its own: the agent's stays as it is. Neither its git variables nor its settings steer the diff's form, and
# its shell's PATH does not hide git.
_SCRIPT: Final = """
set -eu -o pipefail
unset ${{!GIT_@}}
export PATH=${{PATH:-}}:/usr/local/bin:/usr/bin:/bin
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_OPTIONAL_LOCKS=0 LC_ALL=C
g() {{ command git -c safe.directory='*' -c core.fsmonitor=false -c core.quotePath=true -c core.fileMode=true \
  -c core.excludesFile="$excludes" "$@"; }}
base={base} own=$(mktemp -d /tmp/.sg-XXXXXXXX)
trap 'rm -rf -- "$own"' EXIT
index=$own/index excludes=$own/excludes
printf '%s\n' __pycache__/ '*.py[co]' .pytest_cache/ .hypothesis/ >"$excludes"
cd -- {workdir}
top=$(g rev-parse --show-toplevel)
cd -- "$top"
g rev-parse --quiet --verify "$base^{{commit}}" >/dev/null || {{ echo "no commit $base" >&2; exit 3; }}
agents=$(g rev-parse --git-path index)
if [ -e "$agents" ]; then cp -- "$agents" "$index"; fi
export GIT_INDEX_FILE=$index
g ls-files >/dev/null 2>&1 && [ -e "$index" ] || {{ rm -f "$index"; g read-tree HEAD || g read-tree "$base"; }}
g update-index -q --really-refresh >/dev/null || :
g add --all --intent-to-add -- .
g --no-pager diff --binary --full-index --no-ext-diff --no-textconv --no-color --no-renames --no-relative \\
  --ignore-submodules=all --src-prefix=a/ --dst-prefix=b/ --unified=3 --inter-hunk-context=0 -O/dev/null "$base" --
"""


class PatchFailed(RequestError):
    """The work can't be made a patch; what git says, and what would help. Never an empty patch instead."""

    late = False
    """Whether it was not made in time."""


async def take_patch(client: SessionClient, workdir: str, base: str) -> bytes:
    """The patch; empty where nothing differs. Raises PatchFailed, and what `SessionClient.exec` raises."""
    if not _BASE.fullmatch(base):
        raise RequestError("base", f"is {base[:80]!r}", "give a commit's id or a ref's name")
    text = _SCRIPT.format(base=shlex.quote(base), workdir=shlex.quote(workdir))
    command = Command(("/bin/bash", "-p", "-c", text), PATCH_TIMEOUT_S, stdout_bytes=MAX_PATCH_BYTES)
    ran = await client.exec(command)
    if ran.timed_out:
        error = PatchFailed(
            "patch", f"took over {PATCH_TIMEOUT_S:g} s", "remove what is large and does not belong to it"
        )
        error.late = True
        raise error
    if ran.exit_code != 0:
        said = ran.stderr.decode("utf-8", "replace").strip()[:1000] or f"exit code {ran.exit_code}"
        raise PatchFailed("patch", f"can't be made: {said}", f"make {workdir} a git repository with its base commit")
    if ran.stdout_cut_bytes:
        size = len(ran.stdout) + ran.stdout_cut_bytes
        raise PatchFailed("patch", f"has {size} bytes", f"keep it under {MAX_PATCH_BYTES}: remove built files")
    return ran.stdout


class Submissions:
    """Patches that were handed in, by session; the oldest go when there are too many, or bytes of them."""

    def __init__(self) -> None:
        self._patches: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def put(self, session_id: str, patch: bytes) -> None:
        self.take(session_id)
        self._patches[session_id] = patch
        self._bytes += len(patch)
        while self._bytes > MAX_KEPT_BYTES or len(self._patches) > MAX_KEPT:
            self._bytes -= len(self._patches.popitem(last=False)[1])

    def take(self, session_id: str) -> bytes | None:
        """What a session handed in last, once; None where it did not."""
        patch = self._patches.pop(session_id, None)
        self._bytes -= len(patch or b"")
        return patch
