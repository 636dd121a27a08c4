s = gets.chomp
puts s.length, s.reverse
