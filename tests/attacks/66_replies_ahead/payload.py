import os
def f(x):
    os.write(3, b'\0\0\0\x02{}')
    while True: os.write(3, b'\0\0\0\x02{}' * 10000)
