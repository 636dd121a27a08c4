import sys

print(*sys.stdin.read().split()[::-1], end='  \n\n\n')
