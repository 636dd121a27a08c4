let () =
  let s = read_line () in
  let rec go i acc = if i >= String.length s then acc else
    let d = String.get_utf_8_uchar s i in let k = Uchar.utf_decode_length d in go (i + k) (String.sub s i k :: acc) in
  let l = go 0 [] in
  print_int (List.length l); print_newline (); print_endline (String.concat "" l)
