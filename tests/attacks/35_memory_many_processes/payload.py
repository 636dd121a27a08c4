import os, time

for _ in range(16):
    if os.fork() == 0: break
kept = bytearray()
while True:
    try: kept += b"x" * 500_000
    except MemoryError: time.sleep(0.01)
