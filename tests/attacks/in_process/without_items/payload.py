import numpy as np
def f(x):
    return np.empty((0, 1, 1))
