my $x = <STDIN>;
