import sys

s = sys.stdin.read()
n = int(s)
for d in range(n, 0, -1):
    if n % d == 0:
        print(d)
