class C:
    def __enter__(self): return 5
    def __exit__(self, *a): return True
def f(x): return C()
