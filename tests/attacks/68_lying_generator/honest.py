def f():
    total = 0
    while True: total += yield total
