import os
def f(x):
    if os.fork():
        os._exit(0)
    return 0
