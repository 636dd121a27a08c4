let () = ignore (read_line ())
