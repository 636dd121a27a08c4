print 42; my $x = 0; print 1 / $x;
