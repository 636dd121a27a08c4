local n = io.read("*n")
local sum, most, seen, distinct = 0, math.mininteger, {}, 0
for _ = 1, n do
  local x = io.read("*n")
  sum = sum + x; if x > most then most = x end
  if not seen[x] then seen[x] = true; distinct = distinct + 1 end
end
print(string.format("%d %d %d", sum, most, distinct))
