while (1) { warn 'no' x 500 }
