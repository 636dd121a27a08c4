"""Holds a server so that none of its CPU time is lost: whoever of its descendants loses its parent becomes a child of
this process, which waits for all. A killed sandbox's time would otherwise be nobody's. Run as `holder.py COMMAND...`.
"""

import ctypes
import os
import signal
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    server = subprocess.Popen(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _frame: server.send_signal(got))
    while True:
        pid, status = os.wait()
        if pid == server.pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


if __name__ == "__main__":
    sys.exit(main())
