let rec depth n = if n = 0 then 0 else 1 + depth (n - 1)
let () = read_int () |> depth |> string_of_int |> print_endline
