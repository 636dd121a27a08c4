#lang racket
(displayln 42) (vector-ref (vector 1) 3)
