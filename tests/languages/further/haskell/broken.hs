main = print (twice 21)
