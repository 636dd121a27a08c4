let rec f n = 1 + f (n + 1)
let () = print_int (f 0)
