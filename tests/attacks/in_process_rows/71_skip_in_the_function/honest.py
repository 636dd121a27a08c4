def total(path):
    with open(path) as file:
        return sum(map(int, file.read().split()))
