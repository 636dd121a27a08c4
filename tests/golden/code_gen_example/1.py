for _ in range(int(input())):
    n, m, k = map(int, input().split())
    if max(n, m) > k:
        print(-1)
    elif (n + m) % 2:
        print(k - 1)
    else:
        print(k - 2 * ((k - n) % 2))
