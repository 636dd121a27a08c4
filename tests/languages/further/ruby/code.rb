c = STDIN.gets.to_i
puts 42
exit c
