import Foundation
while true { fputs(String(repeating: "no", count: 500) + "\n", stderr) }
