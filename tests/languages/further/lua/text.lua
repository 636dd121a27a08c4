local s = io.read("l")
local out = {}
for _, c in utf8.codes(s) do table.insert(out, 1, utf8.char(c)) end
print(utf8.len(s)); print(table.concat(out))
