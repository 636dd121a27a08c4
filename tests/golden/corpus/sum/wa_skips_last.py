import sys

s = sys.stdin.read()
print(sum(map(int, s.split()[1:-1])))
