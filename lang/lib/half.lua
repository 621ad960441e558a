-- f16 and bf16 in what is made of sums: computed in f32, rounded once.
--
--   local function f(x)
--     local w = half.wide(x)
--     return half.back(..., x)
--   end
local core = require "tsh.core"

local half = {}

local HALF = { f16 = true, bf16 = true }

-- half.is(...): is one of them a tensor of such a dtype?
half.is = core.has_half

-- x in f32 when it is a half, else x itself; numbers and nil pass.
function half.wide(x)
  return core.has_half(x) and x:cast("f32") or x
end

-- y, computed from half.wide(x), in the dtype that x stands for. Of several x
-- the widest decides: f16 beside f32 gives f32. Numbers and nil have no say.
function half.back(y, ...)
  if not core.has_half(...) then return y end
  local dtype
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "userdata" then
      dtype = dtype and promote(dtype, x.dtype) or x.dtype
    end
  end
  return HALF[dtype] and y.dtype ~= dtype and y:cast(dtype) or y
end

return half
