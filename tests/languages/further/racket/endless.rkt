#lang racket
(define (f n) (+ 1 (f (+ n 1))))
(displayln (f 0))
