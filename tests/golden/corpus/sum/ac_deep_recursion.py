import sys

sys.setrecursionlimit(30000)
v = list(map(int, sys.stdin.read().split()[1:]))


def total(n):
    return 0 if n == 20000 else (v[n] if n < len(v) else 0) + total(n + 1)


print(total(0))
