puts 42
puts nil + 1
