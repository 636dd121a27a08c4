def solve(n):
    return [2 * n, 5 * n, 1]
