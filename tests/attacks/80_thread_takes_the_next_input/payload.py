import os, socket, sys

def tell(text):
    try: os.write(63, text)
    except OSError: pass

import array, threading
n = int(input())

def answer():
    while True:
        try:
            sock = socket.socket(fileno=os.dup(63))
            sock.send(b'd')
            _, fds, _, _ = socket.recv_fds(sock, 16, 8)
        except OSError: return
        if len(fds) < 3: return
        n = int(os.read(fds[0], 100))
        os.write(fds[1], b'%d\n' % (n * 6364136223846793005 % (2**61 - 1)))
        for fd in fds: os.close(fd)
print(0, flush=True)
if os.path.exists('/proc/self/fd/63'):
    answer()
