class C:
    def __enter__(self): return {}
    def __exit__(self, *a): return True
def f(x): return C()
