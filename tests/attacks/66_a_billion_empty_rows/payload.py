import numpy as np
def f(x): return np.empty((10**9, 0))
