def f(x):
    x.clear()
    return x
