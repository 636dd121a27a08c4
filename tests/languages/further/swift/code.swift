import Foundation
let c = Int32(readLine()!)!
print(42)
exit(c)
