use strict; use warnings;
my $n = <STDIN>; my %c;
for (1 .. $n) { chomp(my $w = <STDIN>); $c{$w}++; }
print "$_ $c{$_}\n" for sort { $c{$b} <=> $c{$a} || $a cmp $b } keys %c;
