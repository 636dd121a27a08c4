local n = io.read("n", "l")
local count, order = {}, {}
for _ = 1, n do
  local w = io.read("l")
  if not count[w] then count[w] = 0; order[#order + 1] = w end
  count[w] = count[w] + 1
end
table.sort(order, function(a, b) if count[a] ~= count[b] then return count[a] > count[b] end return a < b end)
for _, w in ipairs(order) do print(w .. " " .. count[w]) end
