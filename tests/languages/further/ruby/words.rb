n = gets.to_i
count = Hash.new(0)
n.times { count[gets.strip] += 1 }
count.sort_by { |w, c| [-c, w] }.each { |w, c| puts "#{w} #{c}" }
