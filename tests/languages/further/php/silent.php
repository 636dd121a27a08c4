<?php fgets(STDIN);
