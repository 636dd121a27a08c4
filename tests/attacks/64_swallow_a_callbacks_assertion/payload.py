def f(xs, cb):
    for x in xs:
        try: cb(99)
        except AssertionError: pass
