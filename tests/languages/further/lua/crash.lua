print(42) local t = nil print(t.x)
