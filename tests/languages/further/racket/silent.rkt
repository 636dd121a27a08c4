#lang racket
(void (read))
