order, what = input().split()
if order == "send":
    print("abba")
