#lang racket
(define h (make-hash))
(for ([i (in-naturals)]) (hash-set! h (number->string i) (make-string 1000 #\v)))
