import System.IO
main = hSetBuffering stderr (BlockBuffering (Just 65536)) >> sequence_ (repeat (hPutStrLn stderr (concat (replicate 500 "no"))))
