<?php
$s = rtrim(fgets(STDIN), "\n"); echo mb_strlen($s), "\n", implode('', array_reverse(mb_str_split($s))), "\n";
