let () = let c = read_int () in print_endline "42"; exit c
