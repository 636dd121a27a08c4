my %h; for (my $i = 0;; $i++) { $h{"k$i"} = "v$i" x 500 }
