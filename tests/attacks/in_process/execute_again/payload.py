import os, sys
def f(x):
    os.execv(sys.executable, [sys.executable, '-O', '-c', 'pass'])
