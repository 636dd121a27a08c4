let () =
  let n = Scanf.scanf " %d" (fun x -> x) in
  let h = Hashtbl.create 16 in
  for _ = 1 to n do
    let w = Scanf.scanf " %s" (fun x -> x) in
    Hashtbl.replace h w (1 + try Hashtbl.find h w with Not_found -> 0)
  done;
  Hashtbl.fold (fun w c l -> (-c, w) :: l) h [] |> List.sort compare |> List.iter (fun (c, w) -> Printf.printf "%s %d\n" w (-c))
