import contextlib
@contextlib.contextmanager
def f(x): yield x
