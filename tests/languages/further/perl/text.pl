use strict; use warnings; use utf8; binmode(STDIN, ':encoding(UTF-8)'); binmode(STDOUT, ':encoding(UTF-8)');
chomp(my $s = <STDIN>); print length($s), "\n", scalar reverse($s), "\n";
