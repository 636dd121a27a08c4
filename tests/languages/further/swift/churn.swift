var last = 0
while last >= 0 { last = (1...1000).map { ($0 * 7 + last) % 13 }.sorted()[0] }
print(last)
