local n, sum, px, py = io.read("n"), 0.0
for _ = 1, n do
  local x, y = io.read("n", "n")
  if px then sum = sum + math.sqrt((x - px) ^ 2 + (y - py) ^ 2) end
  px, py = x, y
end
print(("%.6f"):format(sum))
