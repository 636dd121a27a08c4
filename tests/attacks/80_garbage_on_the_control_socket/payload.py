import os, socket, sys

def tell(text):
    try: os.write(63, text)
    except OSError: pass

n = int(input())
try:
    sock = socket.socket(fileno=os.dup(63))
    socket.send_fds(sock, [b'd' * 5000], [0, 1, 2] * 20)
    sock.send(b'')
except OSError: pass
for text in (b'l', b'n', b'', b'\0' * 9000, b'{"op": "result"}'): tell(text)
print(0)
