import os
def f(x):
    if os.fork() == 0: return 9
    return 0
