repeat message(strrep('no', 500))
