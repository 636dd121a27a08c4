def f(xs): return [x * x for x in xs]
