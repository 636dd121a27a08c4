import os, socket, sys

def tell(text):
    try: os.write(63, text)
    except OSError: pass

n = int(input())
os.close(63) if os.path.exists('/proc/self/fd/63') else None
os.dup2(1, 63)
print(0)
