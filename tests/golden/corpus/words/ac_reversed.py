import sys

s = sys.stdin.read()
print(' '.join(reversed(s.split())))
