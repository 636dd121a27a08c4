#lang racket
(define n (read))
(define a (for/list ([_ (in-range n)]) (read)))
(printf "~a ~a ~a\n" (apply + a) (apply max a) (set-count (list->set a)))
