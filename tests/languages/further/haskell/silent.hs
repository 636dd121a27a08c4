main = getLine >> return ()
