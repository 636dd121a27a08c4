#lang racket/base
(require racket/math racket/format)
(define n (read))
(define-values (sum x y)
  (for/fold ([sum 0.0] [px #f] [py #f]) ([_ n])
    (define x (read)) (define y (read))
    (values (if px (+ sum (sqrt (+ (sqr (- x px)) (sqr (- y py))))) sum) x y)))
(displayln (~r sum #:precision '(= 6)))
