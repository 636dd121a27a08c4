import math

print(f"{2 * math.pi * math.sqrt(float(input()) / 9.81):.9f}")
