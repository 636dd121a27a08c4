def f(x): return 2 if x == 1 else 9
