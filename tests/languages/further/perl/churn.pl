while (1) { my @a = sort map { $_ * 7 % 13 } 1 .. 1000 }
