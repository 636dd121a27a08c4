from codec2 import decoded, encoded

order, what = input().split()
print(encoded(int(what)) if order == "send" else decoded(what))
