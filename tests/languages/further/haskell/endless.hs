f :: Int -> Integer
f n = if n == -1 then 0 else 1 + f (n + 1)
main = readLn >>= print . f
