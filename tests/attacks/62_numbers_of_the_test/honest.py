def f(x): return [9]
