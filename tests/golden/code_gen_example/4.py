for _ in range(int(input())):
    n = int(input())
    place = {value: index for index, value in enumerate(map(int, input().split()))}
    low, high, marks = n, -1, ""
    for m in range(1, n + 1):
        low, high = min(low, place[m]), max(high, place[m])
        marks += "1" if high - low + 1 == m else "0"
    print(marks)
