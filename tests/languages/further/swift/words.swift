let n = Int(readLine()!)!
var count: [String: Int] = [:]
for _ in 0..<n { count[readLine()!, default: 0] += 1 }
for (w, c) in count.sorted(by: { $0.value != $1.value ? $0.value > $1.value : $0.key < $1.key }) { print(w, c) }
