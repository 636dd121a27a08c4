import Foundation
_ = readLine()
let a = readLine()!.split(separator: " ").map { Int($0)! }
print(a.reduce(0, +), a.max()!, Set(a).count)
