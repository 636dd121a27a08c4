def f(x): return set(x)
