"""A bare fork-server: a clean interpreter that forks for each program it is sent, and nothing else. No isolation, no
caps, no clock: what a fork of Python costs at least. Run as `python3 -I -S fork_server.py SOCKET_FD [MODULE...]`.

One message is one run: the source, with descriptors of its standard input and output. The answer is its wait status.
"""

import array
import gc
import importlib
import os
import socket
import sys

MAX_SOURCE = 1 << 20


def become(source: bytes, fds: "array.array[int]") -> None:
    for target, fd in enumerate((fds[0], fds[1], fds[1])):
        os.dup2(fd, target)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    code = 1
    try:
        exec(compile(source, "main.py", "exec"), {"__name__": "__main__"})
        sys.stdout.flush()
        code = 0
    finally:
        os._exit(code)


def serve(sock: socket.socket) -> None:
    while True:
        source, ancillary, _flags, _address = sock.recvmsg(MAX_SOURCE, socket.CMSG_SPACE(8))
        if not source:
            return
        fds = array.array("i", ancillary[0][2])
        pid = os.fork()
        if pid == 0:
            sock.close()
            become(source, fds)
        for fd in fds:
            os.close(fd)
        sock.send(b"%d" % os.waitpid(pid, 0)[1])


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=int(sys.argv[1])))
