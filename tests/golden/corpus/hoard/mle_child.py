import os

pid = os.fork()
if pid == 0:
    kept = [bytearray(b'x' * (1 << 22)) for _ in range(200)]
    os._exit(0)
_, status = os.waitpid(pid, 0)
print(6)
raise SystemExit(status != 0)
