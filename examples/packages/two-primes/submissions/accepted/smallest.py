import sys


def prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


n = int(sys.stdin.readline())
print(next(f"{a} {n - a}" for a in range(2, n) if prime(a) and prime(n - a)))
