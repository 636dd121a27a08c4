#lang racket
(define (depth n) (if (zero? n) 0 (+ 1 (depth (- n 1)))))
(module+ main (displayln (depth (string->number (read-line)))))
