let n = readLine()!.count
let a = [1]
print(42)
print(a[n])
