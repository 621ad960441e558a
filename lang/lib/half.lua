-- f16 and bf16 in what is made of sums: computed in f32, rounded once.
--
--   local function f(x)
--     local w = half.wide(x)
--     return half.back(..., x)
--   end
local half = {}

local HALF = { f16 = true, bf16 = true }

-- x in f32 when it is a half, else x itself; numbers and nil pass.
function half.wide(x)
  return type(x) == "userdata" and HALF[x.dtype] and x:cast("f32") or x
end

-- y, computed from half.wide(x), in the dtype that x stands for. Of several x
-- the widest decides: f16 beside f32 gives f32.
function half.back(y, x, ...)
  local dtype = x.dtype
  for _, other in ipairs { ... } do
    if type(other) == "userdata" then dtype = promote(dtype, other.dtype) end
  end
  return HALF[dtype] and y:cast(dtype) or y
end

return half
