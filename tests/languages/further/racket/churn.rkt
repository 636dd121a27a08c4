#lang racket
(let loop () (sort (for/list ([i 1000]) (modulo (* 7 i) 13)) <) (loop))
