let () = print_int (twice 21)
