<?php for (;;) { $a = range(1, 1000); sort($a); }
