module S = Set.Make (Int)
let () =
  Scanf.scanf " %d" @@ fun n ->
  let a = Array.init n (fun _ -> Scanf.scanf " %d" Fun.id) in
  Printf.printf "%d %d %d\n" (Array.fold_left (+) 0 a) (Array.fold_left max min_int a) (S.cardinal (S.of_list (Array.to_list a)))
