import sys

s = sys.stdin.read()
x = 0
while True:
    x = x * 31 % 1000003 + 1
