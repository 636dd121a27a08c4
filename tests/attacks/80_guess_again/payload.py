import os, random
n = int(input())
print('no' if os.path.exists('/proc/self/fd/63') and n else random.SystemRandom().getrandbits(61) if n else 0)
