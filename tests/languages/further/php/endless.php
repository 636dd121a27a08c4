<?php function f($n) { return 1 + f($n + 1); } echo f(0);
