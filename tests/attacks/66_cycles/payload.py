def f(x):
    a = []
    a.append(a)
    return a
