<?php echo 42, intdiv(1, 0);
