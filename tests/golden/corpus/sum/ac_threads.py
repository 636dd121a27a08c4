import sys
import threading

numbers = list(map(int, sys.stdin.read().split()[1:]))
parts = []
threads = [threading.Thread(target=parts.append, args=(n,)) for n in numbers]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(parts))
