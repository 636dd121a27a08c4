gets
a = gets.split.map(&:to_i)
puts "#{a.sum} #{a.max} #{a.uniq.size}"
