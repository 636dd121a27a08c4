kept = []
while True: kept.append(b'x' * 1000000 + bytes([len(kept) % 256]))
