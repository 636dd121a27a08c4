<?php
function depth(int $n): int { return $n === 0 ? 0 : 1 + depth($n - 1); }
echo depth((int) trim(fgets(STDIN))), PHP_EOL;
