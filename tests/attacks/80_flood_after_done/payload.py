import os, socket, sys

def tell(text):
    try: os.write(63, text)
    except OSError: pass

import threading
n = int(input())
chunk = b'0\n' * 30000
out = os.dup(1)

def flood():
    while True:
        try: os.write(out, chunk)
        except OSError: return
for _ in range(3): threading.Thread(target=flood, daemon=True).start()
for _ in range(200):
    tell(b'd')
import time
time.sleep(0.5)
os._exit(0)
