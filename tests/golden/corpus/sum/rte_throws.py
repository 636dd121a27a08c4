import sys

s = sys.stdin.read()
raise ValueError(s)
