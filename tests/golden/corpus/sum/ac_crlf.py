import sys

sys.stdout.buffer.write(b'%d\r\n\r\n' % sum(map(int, sys.stdin.buffer.read().split()[1:])))
