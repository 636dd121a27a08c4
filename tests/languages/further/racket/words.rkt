#lang racket
(define n (string->number (read-line)))
(define count (make-hash))
(for ([_ n]) (hash-update! count (string-trim (read-line)) add1 0))
(for ([p (sort (hash->list count) (lambda (a b) (or (> (cdr a) (cdr b)) (and (= (cdr a) (cdr b)) (string<? (car a) (car b))))))])
  (printf "~a ~a\n" (car p) (cdr p)))
