{-# LANGUAGE BangPatterns #-}
import qualified Data.ByteString.Char8 as B
import qualified Data.IntSet as S
import Data.Maybe (fromJust)
main = do
  _ <- B.getLine
  a <- map (fst . fromJust . B.readInt) . B.words <$> B.getLine
  putStrLn $ unwords $ map show [sum a, maximum a, S.size (S.fromList a)]
