-- tsh.core's CALL ops: gradients of gradients, what is kept for them, errors
-- that name their line. Values stand in golden.lua.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
local core = require "tsh.core"

local w = tensor({ { 0.5, -1.25, 2, 0.75 }, { 1.5, 0.25, -0.5, 1 },
  { -2, 0.375, 1, 3 } }, "f64")
local x = tensor({ { 0.5, 2.25, -1.5, 3 }, { -0.75, 1.25, 0.25, -2 },
  { 1.75, -0.25, 4, 0.125 } }, "f64")
-- Zeros at the start, the end, twice in a row, and none.
local z = tensor({ { 0, 2.25, -1.5, 3 }, { -0.75, 0, 0, -2 },
  { 1.75, -0.25, 4, 0 } }, "f64")
local at = tensor({ { 0, 2, 2, 1 }, { 1, 1, 0, 0 } }, "i64")

local functions = {
  sort = function(t) return core.sort(t, 2, false) end,
  ["sort down, axis 1"] = function(t) return core.sort(t, 1, true) end,
  cumsum = function(t) return core.scan("cumsum", t, 2) end,
  ["cumsum, axis 1"] = function(t) return core.scan("cumsum", t, 1) end,
  cumprod = function(t) return core.scan("cumprod", t, 2) end,
  ["cumprod, axis 1"] = function(t) return core.scan("cumprod", t, 1) end,
  gather = function(t) return core.gather0(t, at, 1) end,
  scatter_add = function(t)
    return core.scatter_add0(t, at, t[{ { 1, 2 } }] * 3, 1)
  end,
}

local names = {}
for name in pairs(functions) do names[#names + 1] = name end -- order-free
table.sort(names)

for _, name in ipairs(names) do
  local f = functions[name]
  local function weighted(t)
    local y = f(t)
    return sum(y * y * w[{ { 1, y.shape[1] } }])
  end
  case("gradient", name, function()
    gradcheck(weighted, x)
    if not name:find("sort") then gradcheck(weighted, z) end
  end)
  case("gradient of the gradient", name, function()
    local function slope(t) return sum(grad(weighted)(t) ^ 2) end
    gradcheck(slope, x, { tol = 1e-5 })
    if not name:find("sort") then gradcheck(slope, z, { tol = 1e-5 }) end
  end)
  case("gradient after the value was computed", name, function()
    local value, g = value_and_grad(function(t)
      local y = f(t * 2)
      tsh.wait(y)
      return sum(y * w[{ { 1, y.shape[1] } }])
    end)(x)
    local g2 = grad(function(t)
      local y = f(t * 2)
      return sum(y * w[{ { 1, y.shape[1] } }])
    end)(x)
    check(allclose(g, g2), "another gradient")
  end)
end

case("gradient", "of long products with a zero", function()
  local t = tensor({ 1, 0.5, 2, 1.5, 0, 1.25, 0.75, 2, 1, 1, 1.5, 0.5, 1, 2,
    0.5, 1, 1.25, 0.5, 2, 1 }, "f64")
  gradcheck(function(v) return sum(core.scan("cumprod", v, 1)) end, t)
end)

case("gradient", "of an empty tensor", function()
  local g = grad(function(t)
    return sum(core.scan("cumprod", t, 1)) + sum(core.scan("cumsum", t, 1))
      + sum(core.sort(t, 1, false))
  end)(zeros(0))
  shape(g, { 0 })
end)

case("positions", "outside are errors of their line", function()
  local bad = core.gather0(x, tensor({ { 0, 4 } }, "i64"), 2)
  local ok, message = pcall(function() return bad:table() end)
  check(not ok and message:find("calls.lua:%d+: gather: a position"),
    tostring(message))
end)

case("positions", "of an empty result are checked", function()
  for _, f in ipairs { function() return take(zeros(3, 0), { 5 }) end,
    function() return take(zeros(0, 3), { -4 }, { axis = 2 }) end } do
    local empty = f()
    local ok, message = pcall(function() return empty:table() end)
    check(not ok and message:find("index %-?%d is outside 1..3"),
      tostring(message))
  end
  shape(take(zeros(3, 0), { 3, 1 }), { 2, 0 })
  eq(sum(take(zeros(3, 0), { 3, 1 })), 0)
end)

case("equal", "keys of long lines keep their order", function()
  local t = arange(0, 49999) % 7
  local i = core.argsort0(t, 1, false)
  local y = core.gather0(t, i, 1)
  check(equal(y, core.sort(t, 1, false)), "gather of argsort is not sort")
  local same = y[{ { 2, 50000 } }]:eq(y[{ { 1, 49999 } }])
  local later = i[{ { 2, 50000 } }]:gt(i[{ { 1, 49999 } }])
  check(all(later | ~same):item(), "not stable")
  local k = core.argtopk0(t, 1, 20000, true)
  check(equal(k, core.argsort0(t, 1, true)[{ { 1, 20000 } }]), "topk")
end)
done()
