def f(x): return 'abc'
