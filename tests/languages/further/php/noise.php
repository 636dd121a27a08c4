<?php for (;;) fwrite(STDERR, str_repeat('no', 500) . PHP_EOL);
