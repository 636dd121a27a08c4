from math import isqrt

n = int(input())
found = next(((isqrt(n - a * a), a) for a in range(isqrt(n // 2) + 1) if isqrt(n - a * a) ** 2 == n - a * a), None)
print(*found or ["impossible"])
