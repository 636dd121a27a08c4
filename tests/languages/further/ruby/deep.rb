def depth(n) = n.zero? ? 0 : 1 + depth(n - 1)
puts depth(gets.to_i)
