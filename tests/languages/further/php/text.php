<?php
$s = rtrim(fgets(STDIN), "\n"); $letters = preg_split('//u', $s, -1, PREG_SPLIT_NO_EMPTY);
echo count($letters), "\n", implode('', array_reverse($letters)), "\n";
