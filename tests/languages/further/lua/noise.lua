while true do io.stderr:write(('no'):rep(500), '\n') end
