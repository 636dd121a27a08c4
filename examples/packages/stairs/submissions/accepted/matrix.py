M = 10**9 + 7


def pair(n):
    if n == 0:
        return 0, 1
    a, b = pair(n // 2)
    c, d = a * (2 * b - a) % M, (a * a + b * b) % M
    return (d, (c + d) % M) if n % 2 else (c, d)


print(pair(int(input()) + 1)[0])
