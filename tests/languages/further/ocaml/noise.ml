let () = while true do prerr_endline (String.make 1000 'n') done
