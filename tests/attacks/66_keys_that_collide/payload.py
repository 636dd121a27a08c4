def f(x): return [i * ((1 << 61) - 1) for i in range(40000)]
