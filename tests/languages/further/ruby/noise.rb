loop { warn 'no' * 500 }
