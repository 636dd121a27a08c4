while true do local t = {} for i = 1, 1000 do t[i] = i * 7 % 13 end table.sort(t) end
