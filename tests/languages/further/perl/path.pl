my $n = <>; my ($sum, @p) = (0);
while ($n--) { my @q = split ' ', scalar <>; $sum += sqrt(($q[0]-$p[0])**2 + ($q[1]-$p[1])**2) if @p; @p = @q; }
printf "%.6f\n", $sum;
