import sys

s = sys.stdin.read()
for word in reversed(s.split()):
    print(word)
print('', end='  ')
