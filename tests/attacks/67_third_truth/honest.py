import numpy as np
def f(x): return np.array([False, True])
