import sys

numbers = iter(map(int, sys.stdin.buffer.read().split()))
for _ in range(next(numbers)):
    n, k = next(numbers), next(numbers)
    barrels = sorted((next(numbers) for _ in range(n)), reverse=True)
    print(sum(barrels[: k + 1]))
