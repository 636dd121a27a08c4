<?php
$n = intval(fgets(STDIN)); $count = [];
for ($i = 0; $i < $n; $i++) { $w = trim(fgets(STDIN)); $count[$w] = ($count[$w] ?? 0) + 1; }
uksort($count, fn($a, $b) => $count[$b] <=> $count[$a] ?: strcmp($a, $b));
foreach ($count as $w => $c) echo "$w $c\n";
