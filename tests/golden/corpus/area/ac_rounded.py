import sys

s = sys.stdin.read()
import math
print('%.9f' % (math.pi * float(s) ** 2))
