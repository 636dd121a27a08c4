n = gets.to_i
points = Array.new(n) { gets.split.map(&:to_f) }
puts format("%.6f", points.each_cons(2).sum { |(a, b), (c, d)| Math.hypot(c - a, d - b) })
