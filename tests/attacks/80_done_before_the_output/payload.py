import os, socket, sys

def tell(text):
    try: os.write(63, text)
    except OSError: pass

n = int(input())
tell(b'd')
for _ in range(50):
    try:
        sys.stdout.write('0\n')
        sys.stdout.flush()
    except OSError: break
