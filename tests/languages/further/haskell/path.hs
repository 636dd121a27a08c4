import Text.Printf
import Control.Monad
main = do
  n <- readLn :: IO Int
  ps <- replicateM n (map read . words <$> getLine) :: IO [[Double]]
  printf "%.6f\n" (sum (zipWith (\[a, b] [c, d] -> sqrt ((c - a) ^ 2 + (d - b) ^ 2)) ps (tail ps)))
