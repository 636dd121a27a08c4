let () = while true do ignore (List.sort compare (List.init 1000 (fun i -> i * 7 mod 13))) done
