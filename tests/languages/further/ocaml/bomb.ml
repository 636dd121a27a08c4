let f0 x = (x, x)
let f1 x = f0 (f0 x)
let f2 x = f1 (f1 x)
let f3 x = f2 (f2 x)
let f4 x = f3 (f3 x)
let f5 x = f4 (f4 x)
let _ = f5 ()
let () = print_int 42
