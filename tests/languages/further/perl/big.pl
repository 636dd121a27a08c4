use strict; use warnings; use List::Util qw(sum max uniq);
<STDIN>; my @a = split ' ', <STDIN>;
printf "%d %d %d\n", sum(@a), max(@a), scalar(uniq(@a));
