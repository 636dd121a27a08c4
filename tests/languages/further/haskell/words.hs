module Main where
import qualified Data.Map.Strict as M
import Data.List (sortBy)
import Data.Ord (comparing, Down(..))
main :: IO ()
main = do
  n <- readLn
  ws <- mapM (const getLine) [1 .. n :: Int]
  let c = M.toList (M.fromListWith (+) [(w, 1 :: Int) | w <- ws])
  mapM_ (\(w, k) -> putStrLn (w ++ " " ++ show k)) (sortBy (comparing (Down . snd) <> comparing fst) c)
