def decode(x): return x + 1
def f(x): return x - 1
