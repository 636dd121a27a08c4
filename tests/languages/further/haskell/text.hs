main :: IO ()
main = do { s <- getLine; print (length s); putStrLn (reverse s) }
