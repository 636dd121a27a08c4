def f(x): return 'hello ' + x
