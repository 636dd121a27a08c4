def f(cb): return 9
