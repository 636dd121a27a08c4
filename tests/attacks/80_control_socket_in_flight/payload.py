import os, socket, sys

def tell(text):
    try: os.write(63, text)
    except OSError: pass

import signal
n = int(input())
print(0, flush=True)
try:
    first, second = socket.socketpair()
    for fds in ([63], [first.fileno(), second.fileno()]):
        socket.send_fds(first, [b'x'], fds)
        socket.send_fds(second, [b'x'], fds)
    tell(b'd')
    os.kill(os.getpid(), signal.SIGKILL if n % 2 else signal.SIGTERM)
except OSError: pass
