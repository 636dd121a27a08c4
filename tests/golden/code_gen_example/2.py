for _ in range(int(input())):
    input()
    choices = list(zip(*(map(int, input().split()) for _ in range(3))))
    taken = []
    for index, options in enumerate(choices):
        refused = taken[-1:] + (taken[:1] if index == len(choices) - 1 else [])
        taken.append(next(value for value in options if value not in refused))
    print(*taken)
