import System.IO
main = sequence_ (repeat (hPutStrLn stderr (concat (replicate 500 "no"))))
