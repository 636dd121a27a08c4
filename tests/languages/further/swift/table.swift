var m = [String: [Int]]()
var i = 0
while true { m[String(i)] = Array(i..<(i + 1000)); i += 1 }
