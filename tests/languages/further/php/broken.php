<?php echo twice(fgets(STDIN));
