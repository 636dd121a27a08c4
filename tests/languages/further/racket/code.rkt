#lang racket
(define c (read)) (displayln 42) (exit c)
