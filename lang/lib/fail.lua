-- Errors of the library: they blame the user's line, not one of these files.
local core = require "tsh.core"

local LIBRARY = "=tsh:"

local function user_level()
  local level = 3
  while true do
    local at = debug.getinfo(level, "S")
    if not at then return 0 end
    if at.what ~= "C" and at.source:sub(1, #LIBRARY) ~= LIBRARY then
      return level - 1
    end
    level = level + 1
  end
end

-- Raises "function: what is wrong", with a line of advice when there is one.
return core.fail or function(message, hint)
  if hint then message = message .. "\n  hint: " .. hint end
  error(message, user_level())
end
