local t, i = {}, 0 while true do i = i + 1 t['k' .. i] = ('v' .. i):rep(500) end
