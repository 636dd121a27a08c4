def f(x): return 424242
