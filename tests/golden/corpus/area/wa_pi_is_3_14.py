import sys

s = sys.stdin.read()
print(3.14 * float(s) ** 2)
