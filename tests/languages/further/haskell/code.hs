import System.Exit
main = do
  c <- readLn
  print 42
  if c == 0 then exitSuccess else exitWith (ExitFailure c)
