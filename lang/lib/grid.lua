-- Tables of text, as the commands of a session show them.
local core = require "tsh.core"

local grid = {}

-- grid.print(rows): columns that are as wide as what they hold; the last is
-- not padded, and goes on below itself where a terminal is too narrow.
function grid.print(rows)
  local width = {}
  for _, r in ipairs(rows) do
    for c, text in ipairs(r) do
      width[c] = math.max(width[c] or 0, core.columns(text))
    end
  end
  for _, r in ipairs(rows) do
    local parts, hang, last = {}, 0, #r
    while last > 1 and r[last] == "" do last = last - 1 end
    for c = 1, last do
      local gap = c < last and width[c] - core.columns(r[c]) + 2 or 0
      if c < last then hang = hang + width[c] + 2 end
      parts[c] = r[c] .. (" "):rep(gap)
    end
    core.say(table.concat(parts), hang)
  end
end

return grid
