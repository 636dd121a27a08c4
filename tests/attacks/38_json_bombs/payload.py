def order(items):
    x = []
    for _ in range(100000): x = [x]
    return x
