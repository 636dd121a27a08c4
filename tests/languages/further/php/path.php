<?php
[$n] = fscanf(STDIN, "%d"); $sum = 0.0; $px = $py = null;
while ($n-- > 0) { [$x, $y] = fscanf(STDIN, "%f %f"); if ($px !== null) $sum += hypot($x - $px, $y - $py); $px = $x; $py = $y; }
printf("%.6f\n", $sum);
