let () =
  let h = Hashtbl.create 16 and i = ref 0 in
  while true do Hashtbl.add h (string_of_int !i) (String.make 2000 'v'); incr i done
