depth :: Integer -> Integer
depth 0 = 0
depth n = 1 + depth (n - 1)
main = interact (show . depth . read)
