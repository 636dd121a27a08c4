#lang racket
(let loop () (eprintf "~a\n" (make-string 1000 #\n)) (loop))
