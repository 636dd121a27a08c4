def f(cb):
    def h(x): return cb(x)
    return h(h)
