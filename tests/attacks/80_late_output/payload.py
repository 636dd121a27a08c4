import gc, os, sys
keep = getattr(sys.modules['heapq'] if 'heapq' in sys.modules else os, 'kept', None)
n = int(input())
if keep is None:
    os.kept = os.dup(1)
    print(0)
else:
    os.write(keep, b'%d\n' % (n * 6364136223846793005 % (2**61 - 1)))
