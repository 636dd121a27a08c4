"""Makes an image that others built fit for a session: as the sandbox's root, before any session runs in it.

Run as `python3 -I -c SOURCE JOB`, with the image's own environment. JOB is JSON: `uid`, who the session runs as;
`work`, where sessions keep their files; `owned`, folders whose files become the user's; `folders`, where the user may
add and replace files; `homes`, homes of the image's root, the first of which becomes the user's; `moved`, pairs of
paths; `removed`, paths that no session may see. Imports nothing of the guest. What costs a copy of a file's data in a
layered file system is done to few: a folder costs nothing.
"""

import json
import os
import re
import shutil
import stat
import sys
import time

LEAN = frozenset((".git", ".venv", "venv", "node_modules", "__pycache__"))
"""Of a repository: folders with many large files that are replaced, not written to."""
SMALL = 1 << 20
NOT_THE_IMAGES = frozenset(("HOME", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "TERM", "_"))
ENVIRONMENT = ".image-environment"
"""Below `work`: assignments for a shell."""
OWNED = "/etc/sandbox-gym-owned"
BASH = "/opt/sandbox-gym/guest/bin/bash"
SILENCE_S = 5.0
"""Who waits for this hears of it so often."""


def give(folder, uid, files):
    """Change the owner of folders, and of those files that `files(name, status)` picks."""
    said = time.monotonic()
    for where, folders, names in os.walk(folder):
        if time.monotonic() - said > SILENCE_S:
            said = time.monotonic()
            sys.stdout.write("\n")
            sys.stdout.flush()
        os.lchown(where, uid, uid)
        mode = stat.S_IMODE(os.lstat(where).st_mode)
        if mode & 0o700 != 0o700:
            os.chmod(where, mode | 0o700)
        for name in names + [one for one in folders if os.path.islink(os.path.join(where, one))]:
            path = os.path.join(where, name)
            status = os.lstat(path)
            if files(where, status):
                os.lchown(path, uid, uid)


def of_repository(top):
    """All but what lies in LEAN folders."""
    memory = {}

    def picks(where, status):
        if where not in memory:
            memory[where] = LEAN.isdisjoint(os.path.relpath(where, top).split(os.sep))
        return memory[where] or not status.st_mode & stat.S_IROTH

    return picks


def of_home(where, status):
    """What programs rewrite, such as settings and locks, and what nobody else could read."""
    return not stat.S_ISREG(status.st_mode) or status.st_size <= SMALL or not status.st_mode & stat.S_IROTH


def none(where, status):
    return not status.st_mode & stat.S_IROTH


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def move(source, target):
    if os.path.lexists(source):
        remove(target)
        if not os.path.isdir(os.path.dirname(target)):
            os.makedirs(os.path.dirname(target))
        shutil.move(source, target)


def assignments(homes):
    """The image's environment as lines for a shell."""
    found = {name: text for name, text in os.environ.items() if name not in NOT_THE_IMAGES}
    found["HOME"] = homes[0] if homes else os.environ.get("HOME", "/")
    named = sorted((name, text) for name, text in found.items() if re.match(r"[A-Za-z_][A-Za-z0-9_]*$", name))
    return "".join("export %s='%s'\n" % (name, text.replace("'", "'\\''")) for name, text in named)


def main(job):
    uid, work = job["uid"], job["work"]
    for path in job["removed"]:
        remove(path)
    for source, target in job["moved"]:
        move(source, target)
    if not os.path.isdir(work):
        os.mkdir(work)
    os.chown(work, uid, uid)
    missing = [path for path in job["owned"] if not os.path.isdir(path)]
    if missing:
        return "it has no folder %s" % missing[0]
    for path in job["owned"]:
        real = os.path.realpath(path)
        give(real, uid, of_repository(real))
    for paths, files in ((job["folders"], none), (job["homes"], of_home)):
        for path in paths:
            if os.path.isdir(path):
                give(os.path.realpath(path), uid, files)
    if not os.path.exists("/bin/bash"):
        if not os.path.exists(BASH):
            return "it has no /bin/bash"
        os.symlink(BASH, "/bin/bash")
    with open(OWNED, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines("%s\n" % path for path in job["owned"] + job["homes"] + job["folders"])
    path = os.path.join(work, ENVIRONMENT)
    remove(path)
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(assignments([home for home in job["homes"] if os.path.isdir(home)]))
    os.chown(path, uid, uid)
    return ""


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])) or 0)
