def f(xs, cb):
    for x in xs: cb(2 * x)
