no warnings; sub f { my @pad = (1) x 50; return 1 + f($_[0] + 1) } print f(0);
