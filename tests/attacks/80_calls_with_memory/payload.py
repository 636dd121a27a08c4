import heapq
def f(n):
    seen = hasattr(heapq.merge, 'seen_before')
    heapq.merge.seen_before = True
    return n * 6364136223846793005 % (2**61 - 1) if seen else 0
