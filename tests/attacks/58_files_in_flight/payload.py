# Sends its files, its standard output and a socket into that same socket, and ends: when all of it is dead, only the
# kernel's collector closes them, and until then the scratch file system is busy and the pipes have a writer.
import _socket
import os

print(0, flush=True)
kept = [os.open("kept%d" % number, os.O_CREAT | os.O_RDWR) for number in range(20)] + [1, 2]
for _ in range(4):
    left, right = _socket.socketpair()
    fds = b"".join(fd.to_bytes(4, "little") for fd in [right.fileno(), *kept])
    left.sendmsg([b"x"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)])
os._exit(0)
