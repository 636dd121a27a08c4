def f(x):
    if x < 0: raise ValueError('negative')
    return x * x
