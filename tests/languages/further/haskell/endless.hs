f :: Int -> Integer
f n = 1 + f (n + 1)
main = print (f 0)
