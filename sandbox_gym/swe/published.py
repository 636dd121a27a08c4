"""Instances from the images that datasets publish: what is done to one before sessions begin from it.

Pure text; runs nothing. Its files become the session's (`Adoption`), its history goes, its environment is entered.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import asdict
from importlib.resources import files
from typing import Final

from sandbox_gym.sandbox.api import Adoption
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.swe.recipes import BuildStep
from sandbox_gym.verifiers.swe import SweTask

FORM: Final = 1
"""Of what is made of an image; an instance of another form is built anew."""
BUG: Final = "/tmp/sandbox-gym-bug.diff"
GUEST_PYTHON: Final = "/opt/sandbox-gym/guest/bin/python3"
_ENVIRONMENT: Final = f"{WORK}/.image-environment"
"""Where guest/adopt.py leaves the image's."""
_GIT: Final = (
    "git -c safe.directory='*' -c user.name=sandbox_gym -c user.email=sandbox_gym@localhost -c init.defaultBranch=main"
    " -c core.hooksPath=/dev/null -c commit.gpgSign=false -c core.fsmonitor=false"
    " -c filter.lfs.process= -c filter.lfs.clean=cat -c filter.lfs.smudge=cat -c filter.lfs.required=false"
)
_IGNORED: Final = ("__pycache__/", "*.py[co]", ".pytest_cache/", "/.verify/", "/.read-log/", "/.image-environment")


def image_key(task: SweTask) -> str:
    """What is made of an image is kept under this; a task whose row makes a bug in it has its own."""
    parts = [str(FORM), repr(task.layout), task.patch if task.patch_is_bug else ""]
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"image:{task.image}:{task.workdir}:{digest}"


def adoption(task: SweTask) -> Adoption:
    """What the image's root does for the session first."""
    layout = task.layout
    return Adoption(
        owned=(task.workdir,),
        folders=layout.environments,
        homes=layout.homes,
        moved=[(pair.source, pair.target) for pair in layout.hidden],
        removed=layout.removed,
    )


def template_dockerfile(task: SweTask, uid: int) -> str:
    """For an E2B template of a row's image: what a builder's root does elsewhere is done when the template is made.
    `uid`: who its sessions run as."""
    source = files("sandbox_gym.guest").joinpath("adopt.py").read_text(encoding="utf-8")
    job = json.dumps({**asdict(adoption(task)), "uid": uid, "work": WORK})
    folder = GUEST_PYTHON.removesuffix("/bin/python3")
    return f"""FROM {task.image}
COPY --from=sandbox-gym/guest:latest {folder} {folder}
RUN {json.dumps([GUEST_PYTHON, "-I", "-c", source, job])}
ENTRYPOINT []
LABEL sandbox-gym.template={uid}
"""


def image_steps(task: SweTask) -> tuple[BuildStep, ...]:
    """The repository as one commit, as it is at the image's; the row's bug in it, where the row is one."""
    steps = [BuildStep("git", "command -v git", shown="find git in the image")]
    if task.patch_is_bug and task.patch:
        steps.append(BuildStep("bug", _bug(task.workdir), shown="apply the row's patch, which makes the bug"))
    steps.append(BuildStep("commit", one_commit(task.workdir), shown="make the repository one commit"))
    for pair in task.layout.links:
        command = f"ln -sfn {shlex.quote(pair.source)} {shlex.quote(pair.target)}"
        steps.append(BuildStep("link", command, shown=command))
    if task.layout.links or task.layout.hidden:
        steps.append(BuildStep("links", _hide(task), shown="keep links out of patches"))
    return tuple(steps)


def hide_steps(task: SweTask) -> tuple[BuildStep, ...]:
    """After the tests' own snapshot: what agents' sessions are not to have."""
    gone = [pair.target for pair in (*task.layout.hidden, *task.layout.links)]
    return (BuildStep("hide tests", f"rm -rf -- {shlex.join(gone)}"),) if gone else ()


def one_commit(folder: str) -> str:
    """Make the files that git has at HEAD, as they are now, the only commit there is; what it does not have stays as it
    is, and belongs to no patch."""
    ignored = " ".join(shlex.quote(line) for line in _IGNORED)
    return f"""set -eu -o pipefail
cd -- {shlex.quote(folder)}
list=$(mktemp /tmp/tracked-XXXXXXXX)
if {_GIT} rev-parse --verify -q HEAD >/dev/null 2>&1 && [ "$({_GIT} rev-parse --show-toplevel)" = "$PWD" ]; then
  {_GIT} ls-files -z --recurse-submodules >"$list" 2>/dev/null || {_GIT} ls-files -z >"$list"
else
  find . -name .git -prune -o \\( -type f -o -type l \\) -print0 | sed -z 's#^\\./##' >"$list"
fi
find . -name .git -prune -exec rm -rf {{}} +
{_GIT} init -q .
{_GIT} update-index --add --remove -z --stdin <"$list"
{_GIT} commit -q --allow-empty -m base
rm -rf .git/logs .git/hooks "$list"
git config core.logAllRefUpdates false
git config gc.auto 0
mkdir -p .git/info
printf '%s\\n' {ignored} >>.git/info/exclude
git ls-files --others --exclude-standard --directory | sed 's#^#/#' >>.git/info/exclude
"""


def _bug(folder: str) -> str:
    """An image may have the bug already."""
    there = f"{_GIT} apply --check --reverse --whitespace=nowarn {BUG} 2>/dev/null"
    made = f"{{ {_GIT} apply --whitespace=nowarn {BUG} || {there}; }}"
    return f"cd -- {shlex.quote(folder)} && {made}; said=$?; rm {BUG}; exit $said"


def _hide(task: SweTask) -> str:
    inside = f"{task.workdir.rstrip('/')}/"
    links = [pair.target.removeprefix(inside) for pair in task.layout.links if pair.target.startswith(inside)]
    lines = " ".join(shlex.quote(f"/{link}") for link in links)
    return f"cd -- {shlex.quote(task.workdir)} && printf '%s\\n' {lines} >>.git/info/exclude" if links else "true"


def enter(task: SweTask) -> str:
    """For the session's own shell, whose folder and exported variables the snapshot keeps: the image's environment,
    then what the dataset's harness activates."""
    layout = task.layout
    lines = [f"if [ -e {_ENVIRONMENT} ]; then . {_ENVIRONMENT}; rm -f {_ENVIRONMENT}; fi"]
    if layout.conda_env:
        script, name = shlex.quote(layout.activate_if), shlex.quote(layout.conda_env)
        lines.append(f"if [ -e {script} ]; then . {script} && conda activate {name}; fi || exit 91")
    if layout.programs:
        lines.append(f"export PATH={shlex.quote(layout.programs)}:$PATH")
    return "; ".join((*lines, f"cd -- {shlex.quote(task.workdir)}"))


_FIND_PYTHON: Final = f"""
own=$(command -v python || command -v python3 || true)
printf '%s\\n' "$own"
for python in {GUEST_PYTHON} /usr/bin/python3 "$own"; do
  if [ -n "$python" ] && "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then
    printf '%s\\n' "$python"
    break
  fi
done
"""
PYTHON_STEP: Final = BuildStep("python", _FIND_PYTHON, shown="find the image's Python")
"""Says which Python runs the tests, and then which one runs our own programs; either may be empty."""
