let () = Scanf.scanf "%d" (fun n ->
  let p = List.init n (fun _ -> Scanf.scanf " %f %f" (fun x y -> (x, y))) in
  let rec go s = function (a, b) :: ((c, d) :: _ as r) -> go (s +. Float.hypot (c -. a) (d -. b)) r | _ -> s in
  Printf.printf "%.6f\n" (go 0. p))
