import math

print(2 * math.pi * math.sqrt(float(input()) / 10))
