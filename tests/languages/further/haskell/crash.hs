main = print 42 >> print (head (tail [1 :: Int]))
