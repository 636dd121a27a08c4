def f(x): return [sum(x)]
