import qualified Data.Map.Strict as M
import qualified Data.ByteString.Char8 as B
go :: Int -> M.Map B.ByteString B.ByteString -> IO ()
go i m = if M.size m < 0 then return () else go (i + 1) (M.insert (B.pack (show i)) (B.replicate 2000 'v') m)
main = go 0 M.empty
