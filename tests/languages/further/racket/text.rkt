(define s (read-line))
(displayln (string-length s))
(displayln (list->string (reverse (string->list s))))
