def f(n):
    return [i * 0.5 for i in range(1, n + 1)]
