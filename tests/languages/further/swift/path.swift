import Foundation
let n = Int(readLine()!)!
let p = (0..<n).map { _ in readLine()!.split(separator: " ").map { Double($0)! } }
var sum = 0.0
for i in 1..<n { sum += hypot(p[i][0] - p[i-1][0], p[i][1] - p[i-1][1]) }
print(String(format: "%.6f", sum))
