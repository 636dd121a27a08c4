<?php
$n = (int) fgets(STDIN); $a = array_map('intval', explode(' ', fgets(STDIN)));
echo array_sum($a), ' ', max($a), ' ', count(array_unique($a)), "\n";
