def f(x): return 7 if x == [5] else 1
