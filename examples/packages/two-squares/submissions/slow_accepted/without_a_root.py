n = int(input())
squares = {a * a: a for a in range(31623)}
best = None
for _ in range(8):
    for square, a in squares.items():
        if n - square in squares and a <= squares[n - square]:
            best = best or (a, squares[n - square])
print(*best or ["impossible"])
