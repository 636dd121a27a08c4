import sys

s = sys.stdin.read()
kept = []
while True:
    kept.append(b'x' * (4000000 + len(kept)))
