"""Kernels of languages other than Python: a small program each, in the language itself, which the host sends.

A kernel reads a cell from descriptor 3 as strings that end in NUL: the code, how many variables its environment has
more, and each one's name and value. A count of -1 is no cell but an interrupt, for kernels of INTERRUPTED_BY_WORD; for
others SIGINT is one. It writes messages to descriptor 4, a line of JSON each, and `done` after a cell.
"""

import errno
import os
import shutil
import tempfile

LANGUAGES = {
    "python": (),
    "bash": ("bash",),
    "javascript": ("node",),
    "typescript": ("node", "tsc"),
    "r": ("R",),
    "java": ("java", "jshell"),
}
"""The programs that a kernel needs."""
INTERRUPTED_BY_WORD = ("javascript", "typescript", "java")


def check(language, path):
    """Raises OSError where the sandbox has no kernel for a language."""
    there = [name for name, programs in LANGUAGES.items() if all(shutil.which(one, path=path) for one in programs)]
    if language not in there:
        raise OSError(errno.EINVAL, "no kernel for language %r here; there are %s" % (language, ", ".join(there)))


def execute(language, source):
    """Become the kernel of a language, whose program is `source`."""
    if language == "bash":
        argv = ["bash", "-c", source]
    elif language == "r":
        argv = ["R", "--no-echo", "--no-save", "--no-restore", "--file=" + _file("kernel.R", source)]
    elif language == "java":
        quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
        argv = ["java", *quick, _file("Kernel.java", source)]
    else:
        # JavaScript that was ended in a timer leaves the stack of async hooks as it was
        argv = ["node", "--no-force-async-hooks-checks", "-e", source, language]
    os.execvpe(argv[0], argv, os.environ)


def _file(name, text):
    path = os.path.join(tempfile.mkdtemp(prefix=".kernel-"), name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path
