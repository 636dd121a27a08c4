<?php for ($i = 0;; $i++) $a["k$i"] = str_repeat("v$i", 500);
