def poly(n):
    return 3 * n * n + 3 * n + 1
