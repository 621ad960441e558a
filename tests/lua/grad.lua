-- Every gradient rule against differences, to the second order, with
-- broadcasting; and the values at kinks.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function t64(v) return tensor(v, "f64") end

-- Values away from every kink, in ]0, 1[ or of both signs.
local function values(n, low, high, seed)
  local t, s = {}, seed or 7
  for i = 1, n do
    s = (s * 1103515245 + 12345) % 2147483648
    t[i] = low + (high - low) * (s / 2147483648)
  end
  return t
end

local function input(shape_, low, high, seed)
  local n = 1
  for _, k in ipairs(shape_) do n = n * k end
  return tensor(values(n, low or -2, high or 2, seed), "f64"):reshape(shape_)
end

-- A weighted sum, so that no part of the gradient cancels.
local function weigh(y)
  local n = 1
  for i = 1, #y.shape do n = n * y.shape[i] end
  if n == 0 then return sum(y) end
  return sum(y * input(y.shape:table(), 0.5, 1.5, 99))
end

-- First order, then second: the gradient of a weighted sum of the gradient.
local function both(id, f, x, tol)
  case(id, "first order", function()
    gradcheck(function(p) return weigh(f(p)) end, x, { tol = tol or 1e-7 })
  end)
  case(id, "second order", function()
    local first = grad(function(p) return weigh(f(p)) end)
    gradcheck(function(p)
      local total = 0
      local list = getmetatable(p) and { first(p) } or first(p)
      for _, g in ipairs(list) do total = total + weigh(g) end
      return total
    end, x, { tol = tol or 1e-6, eps = 1e-5 })
  end)
end

-- ---- one input -------------------------------------------------------------

local signed, positive = input { 7 }, input({ 7 }, 0.2, 3)
for _, name in ipairs { "neg", "abs", "sign", "floor", "ceil", "trunc", "round",
  "frac", "square", "relu", "exp", "expm1", "sin", "cos", "tanh", "sigmoid",
  "erf", "reciprocal" } do
  both(name, _G[name], signed)
end
for _, name in ipairs { "sqrt", "rsqrt", "log", "log1p" } do
  both(name, _G[name], positive)
end
both("cast", function(x) return x:cast("f32"):cast("f64") * x end,
  t64 { 1.5, -0.25 }, 2e-2)
for _, p in ipairs { 2, 3, -1, 0.5, -0.5, 1, 0, 2.5 } do
  both("x^" .. p, function(x) return x ^ p end, positive)
end
both("2^x", function(x) return 2 ^ x end, signed)
both("1/x", function(x) return 3 / x end, signed)

-- ---- several inputs, of equal and of other shapes --------------------------

local shapes = {
  { "equal", { 2, 3 }, { 2, 3 } },
  { "row", { 2, 3 }, { 3 } },
  { "column", { 3 }, { 2, 1 } },
  { "scalar", { 2, 3 }, {} },
  { "both", { 2, 1, 3 }, { 4, 1 } },
}
for _, s in ipairs(shapes) do
  local p = { input(s[2], 0.3, 3, 1), input(s[3], 0.4, 2.9, 2) }
  for _, name in ipairs { "add", "sub", "mul", "div", "mod", "fmod", "pow",
    "maximum", "minimum", "copysign", "hypot", "logaddexp" } do
    both(name .. " " .. s[1], function(x) return _G[name](x[1], x[2]) end, p)
  end
end
do
  local p = { input({ 2, 3 }, 1, 2, 3), input({ 3 }, 1, 2, 4),
    input({ 2, 1 }, 1, 2, 5) }
  for _, name in ipairs { "fma", "lerp", "addcmul", "addcdiv" } do
    both(name, function(x) return _G[name](x[1], x[2], x[3]) end, p)
  end
  local c = tensor { { true, false, true }, { false, false, true } }
  both("where", function(x) return where(c, x[1] * x[1], x[2] * x[3]) end, p)
  both("where number", function(x) return where(c, x[1] * x[1], 2) end,
    { p[1] })
end

-- ---- reductions ------------------------------------------------------------

local cube = input({ 2, 3, 4 }, -2, 2, 11)
for _, axis in ipairs { 1, 2, 3, -1 } do
  for _, name in ipairs { "sum", "prod", "max", "min", "mean", "var", "std",
    "softmax", "log_softmax", "logsumexp", "norm" } do
    both(name .. " axis " .. axis, function(x)
      return _G[name](x, { axis = axis })
    end, cube, 3e-6)
  end
end
for _, name in ipairs { "sum", "prod", "max", "min", "mean", "var", "std" } do
  both(name .. " of all", _G[name], input({ 2, 3 }, 0.5, 2, 12), 3e-6)
  both(name .. " axes 1 3 kept", function(x)
    return _G[name](x, { axis = { 1, 3 }, keep = true }) * x
  end, cube, 1e-5)
end
both("layer_norm", layer_norm, cube, 1e-5)
both("layer_norm, weight and bias", function(p)
  return layer_norm(p[1], p[2], p[3])
end, { cube, input({ 4 }, 1, 2, 3), input({ 4 }, 1, 2, 4) }, 1e-5)

-- ---- matmul ----------------------------------------------------------------

for _, s in ipairs {
  { { 3, 4 }, { 4, 2 } }, { { 4 }, { 4 } }, { { 3, 4 }, { 4 } },
  { { 4 }, { 4, 3 } }, { { 2, 3, 4 }, { 4, 2 } }, { { 3, 4 }, { 2, 4, 2 } },
  { { 2, 1, 3, 2 }, { 3, 2, 2 } }, { { 1, 4 }, { 4, 1 } },
  { { 3, 1 }, { 1, 2 } }, { { 2, 3, 1, 4 }, { 2, 1, 4, 1 } },
} do
  local a, b = input(s[1], -1, 1, 21), input(s[2], -1, 1, 22)
  both("matmul " .. tostring(a.shape) .. " " .. tostring(b.shape),
    function(p) return p[1]:matmul(p[2]) end, { a, b })
end
both("matmul with itself", function(x) return x:matmul(x.T) * x:matmul(x) end,
  input({ 3, 3 }, -1, 1, 23), 1e-6)
both("matmul of an expanded tensor", function(x)
  return broadcast_to(x, { 3, 4 }):matmul(broadcast_to(x.T, { 4, 2 }))
end, input({ 1, 4 }, -1, 1, 24))
case("matmul", "of an empty inner axis", function()
  local f = function(p) return sum(p[1]:matmul(p[2])) end
  local g = grad(f) { zeros({ 2, 0 }, { dtype = "f64" }),
    zeros({ 0, 3 }, { dtype = "f64" }) }
  shape(g[1], { 2, 0 })
  shape(g[2], { 0, 3 })
end)

-- ---- layout ----------------------------------------------------------------

both("reshape", function(x) return x:reshape(4, 6) ^ 2 end, cube)
both("permute", function(x) return x:permute(3, 1, 2) ^ 2 end, cube)
both("transpose", function(x) return x:transpose(1, 3) ^ 2 end, cube)
both("broadcast_to", function(x) return broadcast_to(x, { 5, 2, 3 }) ^ 2 end,
  input { 2, 1 })
both("index", function(x) return x[{ 2, { 1, 2 }, -1 }] ^ 2 end, cube)
both("step", function(x) return x[{ {}, { 1, 3, 2 }, { 1, 4, 3 } }] ^ 2 end,
  cube)
both("negative step", function(x)
  return x[{ {}, { -1, 1, -1 }, { 4, 1, -2 } }] ^ 2
end, cube)
both("empty slice", function(x) return x[{ { 2, 1 } }] ^ 2 end, cube)
both("flip", function(x) return flip(x, { axis = { 1, 3 } }) * x end, cube)
both("pad", function(x)
  return pad(x, { { 1, 2 }, { 0, 1 } }, { value = 3 }) ^ 2
end, input { 2, 3 })
both("cat", function(p) return cat({ p[1], p[2], p[1] }, { axis = 2 }) ^ 2 end,
  { input { 2, 3 }, input({ 2, 1 }, 1, 2, 3) })
both("stack", function(p) return stack({ p[1], p[2] }, { axis = 2 }) ^ 2 end,
  { input { 3 }, input({ 3 }, 1, 2, 3) })
both("set", function(p) return p[1]:set({ {}, { 1, 3, 2 } }, p[2]) ^ 2 end,
  { input { 2, 3 }, input({ 2, 2 }, 1, 2, 3) })
both("set, broadcast", function(p) return p[1]:set({ 2 }, p[2]) ^ 2 end,
  { input { 2, 3 }, input({}, 1, 2, 3) })
both("set of a number", function(x) return x:set({ { 1, 2 } }, 5) ^ 2 end,
  input { 4 })
both("take", function(x)
  return take(x, tensor({ 2, 1, 2, -1 }, "i64"), { axis = 1 }) ^ 2
end, input { 3, 2 })
both("take of a matrix of positions", function(x)
  return take(x, tensor({ { 1, 3 }, { 3, 3 } }, "i64"), { axis = 2 }) ^ 2
end, input { 2, 3, 2 })
both("diff", function(x) return diff(x) ^ 2 end, cube)
both("outer", function(p) return outer(p[1], p[2]) ^ 2 end,
  { input { 2 }, input({ 3 }, 1, 2, 3) })

-- ---- compositions ----------------------------------------------------------

both("clamp", function(x) return clamp(x, -1, 1.2) * x end, signed)
both("silu", silu, signed)
both("gelu", gelu, signed)
both("softplus", softplus, signed)
both("leaky_relu", function(x) return leaky_relu(x, 0.1) * x end, signed)
both("cross_entropy", function(x)
  return cross_entropy(x, tensor({ 3, 1 }, "i64"))
end, input { 2, 3 })
both("mse", function(p) return mse(p[1], p[2]) end,
  { input { 2, 3 }, input({ 2, 3 }, 0, 1, 3) })

-- ---- kinks: PyTorch's values -----------------------------------------------

case("kinks", "relu, abs, maximum, minimum, extremes, clamp", function()
  eq(gradat(relu, { 0, -0.0, -1, 2, nan }), { 0, 0, 0, 1, 1 })
  eq(gradat(abs, { 0, -0.0, -3, 3 }), { 0, 0, -1, 1 })
  eq(gradat(function(x) return maximum(x, 1) end, { 0, 1, 2 }), { 0, 0.5, 1 })
  eq(gradat(function(x) return minimum(x, 1) end, { 0, 1, 2 }), { 1, 0.5, 0 })
  eq(gradof(max, { 2, 5, 5, 5 }), { 0, 1 / 3, 1 / 3, 1 / 3 })
  eq(gradof(min, { 2, 5, 2, 5 }), { 0.5, 0, 0.5, 0 })
  eq(gradof(max, { 1, nan, 3, nan }), { 0, 0.5, 0, 0.5 })
  eq(gradat(function(x) return x:max { axis = 2 } end, { { 1, 1 }, { 0, 2 } }),
    { { 0.5, 0.5 }, { 0, 1 } })
  eq(gradat(function(x) return clamp(x, 0, 1) end, { 0, 1, 0.5, -1, 2 }),
    { 1, 1, 1, 0, 0 })
end)

case("kinks", "roots and powers at 0", function()
  eq(gradat(sqrt, { 0, 4 }), { inf, 0.25 })
  eq(gradat(function(x) return x ^ 0 end, { 0, 2, nan }), { 0, 0, 0 })
  eq(gradat(function(x) return x ^ 1 end, { 0, 2 }), { 1, 1 })
  eq(gradat(function(x) return x ^ 2 end, { 0, 2 }), { 0, 4 })
  eq(gradat(function(x) return x ^ t64 { 0, 0, 1, 2 } end, { 0, 3, 0, 0 }),
    { 0, 0, 1, 0 })
  eq(gradat(function(y) return 0 ^ y end, { 0, 1, 2 }), { 0, 0, 0 })
  near(gradat(function(y) return t64 { 0, 0, 2 } ^ y end, { 0, 2, 3 }),
    { 0, 0, 8 * math.log(2) }, 1e-14)
  local second = grad(function(x)
    return sum(grad(function(z) return sum(z ^ t64 { 0, 1, 2, 3 }) end)(x))
  end)
  eq(second(t64 { 0, 0, 0, 0 }), { 0, 0, 2, 0 })
  eq(gradof(norm, { 0, 0 }), { 0, 0 })
  eq(gradof(std, { 3, 3, 3 }), { 0, 0, 0 })
  eq(gradat(function(x) return hypot(x, x) end, { 0 }), { 0 })
  near(gradat(softplus, { 0, 100, -1000 }), { 0.5, 1, 0 }, 1e-15)
end)

case("kinks", "products with zeros, first and second order", function()
  eq(gradof(prod, { 2, 0, 3, 4 }), { 0, 24, 0, 0 })
  eq(gradof(prod, { 2, 0, 0, 4 }), { 0, 0, 0, 0 })
  eq(gradof(prod, { 0 }), { 1 })
  local h = grad(function(x)
    return sum(grad(prod)(x) * t64 { 1, 10, 100 })
  end)
  eq(h(t64 { 2, 0, 0 }), { 0, 200, 20 })
  local long = values(37, 0.9, 1.1)
  long[20] = 0
  local g, others = vals(gradof(prod, long)), 1
  for i = 1, 37 do if i ~= 20 then others = others * long[i] end end
  near(g[20], others, 1e-13)
  eq(g[19], 0)
end)

case("kinks", "running products with a zero, second order", function()
  -- of a + a b + a b c: by a b 1 + c, by a c b, by b c a
  local first = grad(function(x) return sum(cumprod(x)) end)
  local second = grad(function(x) return dot(first(x), t64 { 1, 10, 100 }) end)
  eq(first(t64 { 2, 0, 3 }), { 1, 8, 0 })
  eq(second(t64 { 2, 0, 3 }), { 40, 4 + 200, 20 })
end)

case("kinks", "of values multiplied in at one position, some 0", function()
  local x, at = t64 { 5, 2 }, tensor { 2, 1, 2, 2 }
  local first = grad(function(v) return x:mul(at, v)[2] end)
  eq(first(t64 { 0, 7, 3, 4 }), { 24, 0, 0, 0 })
  -- d2 of 2 a b c by a, weighted 1, 10 and 100: at a = 0
  local second = grad(function(v)
    return dot(first(v), t64 { 1, 0, 10, 100 })
  end)
  eq(second(t64 { 0, 7, 3, 4 }), { 2 * (10 * 4 + 100 * 3), 0, 2 * 4, 2 * 3 })
  eq(second(t64 { 0, 7, 0, 4 }), { 80, 0, 8, 0 })
  local by_x = grad(function(z)
    local of_v = grad(function(v) return z:mul(at, v)[2] end)
    return dot(of_v(t64 { 0, 7, 3, 4 }), t64 { 1, 0, 10, 100 })
  end)
  eq(by_x(x), { 0, 12 })
  eq(first(t64 { 1, 7, inf, 4 }), { inf, 0, 8, inf })
end)

case("kinks", "none in hypot but at (0, 0)", function()
  local function second(k)
    return grad(function(p)
      return sum(grad(function(q) return sum(hypot(q[1], q[2])) end)(p)[k])
    end)
  end
  -- xx: y^2 / h^3, xy: -x y / h^3, yy: x^2 / h^3
  local p = { t64 { 2, 0, 1, 3, 0 }, t64 { 0, 4, -1, 4, 0 } }
  local h3 = 2 ^ 1.5
  rel(second(1)(p)[1], { 0, 1 / 4, 1 / h3, 16 / 125, 0 }, 1e-14)
  rel(second(1)(p)[2], { 0, 0, 1 / h3, -12 / 125, 0 }, 1e-14)
  rel(second(2)(p)[2], { 1 / 2, 0, 1 / h3, 9 / 125, 0 }, 1e-14)
  eq(gradat(function(x) return hypot(x, 1) end, { inf, -inf, 0 }), { 1, -1, 0 })
  local wide = grad(function(q) return sum(hypot(q[1], q[2])) end) {
    t64 { { 3 }, { 0 } }, t64 { 4, 0 } }
  rel(wide[1], { { 0.6 + 1 }, { 0 } }, 1e-14)
  rel(wide[2], { 0.8 + 1, 0 }, 1e-14)
end)

case("kinks", "infinite arguments have the slope of their side", function()
  local y = t64 { 0, 0, 0, 0 }
  for _, f in ipairs { huber, smooth_l1 } do
    eq(gradof(function(x) return f(x, y, { reduction = "sum" }) end,
      { inf, -inf, 0.5, nan }), { 1, -1, 0.5, nan })
  end
  local g = grad(function(p) return sum(logaddexp(p[1], p[2])) end) {
    t64 { inf, 1, -inf }, t64 { 1, inf, 1 } }
  eq(g[1], { 1, 0, 0 })
  eq(g[2], { 0, 1, 1 })
end)

case("kinks", "positions that repeat add up", function()
  eq(gradat(function(x) return take(x, tensor({ 1, 1, 3 }, "i64")) end,
    { 5, 6, 7 }), { 2, 0, 1 })
  eq(gradat(function(x) return cat({ x, x, x }, { axis = 1 }) end, { 5, 6 }),
    { 3, 3 })
end)

done()
