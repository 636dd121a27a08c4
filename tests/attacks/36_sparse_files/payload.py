import os

for n in range(50):
    fd = os.open(f"sparse{n}", os.O_RDWR | os.O_CREAT)
    for size in (1 << 40, 1 << 34, 1 << 28):
        try:
            os.ftruncate(fd, size)
            os.posix_fallocate(fd, 0, size)
        except OSError: pass
    os.close(fd)
print(0)
