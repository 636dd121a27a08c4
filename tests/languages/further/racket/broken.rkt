#lang racket
(displayln (twice 21))
