-- Every dtype through creation, arithmetic, printing, positions, gradients.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local HALVES = { "f16", "bf16" }
local SIGNED = { i8 = -128, i16 = -32768, i32 = -2147483648,
  i64 = math.mininteger }
local UNSIGNED = { u8 = 255, u16 = 65535, u32 = 4294967295 }
local ALL = { "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
  "f16", "bf16", "f32", "f64" }

-- ---- which dtype ------------------------------------------------------------

-- Rows and columns in the order of ALL; f64 holds what no integer does.
local COMMON = {
  bool = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64",
  i8 = "i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 bf16 f32 f64",
  i16 = "i16 i16 i16 i32 i64 i16 i32 i64 f64 f16 bf16 f32 f64",
  i32 = "i32 i32 i32 i32 i64 i32 i32 i64 f64 f16 bf16 f32 f64",
  i64 = "i64 i64 i64 i64 i64 i64 i64 i64 f64 f16 bf16 f32 f64",
  u8 = "u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64",
  u16 = "u16 i32 i32 i32 i64 u16 u16 u32 u64 f16 bf16 f32 f64",
  u32 = "u32 i64 i64 i64 i64 u32 u32 u32 u64 f16 bf16 f32 f64",
  u64 = "u64 f64 f64 f64 f64 u64 u64 u64 u64 f16 bf16 f32 f64",
  f16 = "f16 f16 f16 f16 f16 f16 f16 f16 f16 f16 f32 f32 f64",
  bf16 = "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16 f32 bf16 f32 f64",
  f32 = "f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f32 f64",
  f64 = "f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64",
}

case("promote", "two dtypes meet in a common one, in ops as in the table",
  function()
  for _, a in ipairs(ALL) do
    local k = 0
    for want in COMMON[a]:gmatch("%S+") do
      k = k + 1
      local b = ALL[k]
      check(promote(a, b) == want, a .. " " .. b .. ": " .. promote(a, b))
      if want ~= "bool" then
        dtype(ones({ 2 }, { dtype = a }) * ones({ 2 }, { dtype = b }), want)
      end
    end
  end
end)

case("weak", "a number takes the tensor's dtype, or is an error", function()
  for _, dt in ipairs { "i8", "u8", "i16", "f16", "bf16" } do
    dtype(tensor({ 1 }, dt) + 1, dt)
    dtype(2 * tensor({ 1 }, dt), dt)
  end
  for _, dt in ipairs(HALVES) do dtype(tensor({ 1 }, dt) * 0.1, dt) end
  for _, dt in ipairs { "i8", "u8", "i16" } do
    dtype(tensor({ 1 }, dt) * 0.5, "f32")
    dtype(tensor({ 1 }, dt) / tensor({ 1 }, dt), "f32")
    dtype(tensor({ 1 }, dt):mean(), "f32")
    dtype(exp(tensor({ 1 }, dt)), "f32")
  end
  fails(function() return tensor({ 1 }, "u8") + 300 end, "300 does not fit u8")
  fails(function() return tensor({ 1 }, "u8") - -1 end, "%-1 does not fit u8")
  fails(function() return tensor({ 1 }, "i8") * 128 end, "128 does not fit i8")
  fails(function() return tensor({ 256 }, "u8") end, "256 does not fit u8")
  fails(function() return tensor({ 1.5 }, "i16") end, "1.5 does not fit i16")
  fails(function() return full({ 2 }, 70000, { dtype = "u16" }) end,
    "70000 does not fit u16")
end)

case("sums", "sums of signed integers are i64, of unsigned ones u64", function()
  for dt in pairs(SIGNED) do
    dtype(tensor({ 1 }, dt):sum(), "i64")
    dtype(tensor({ 1 }, dt):prod(), "i64")
  end
  for dt in pairs(UNSIGNED) do
    dtype(tensor({ 1 }, dt):sum(), "u64")
    dtype(tensor({ 1 }, dt):max(), dt)
  end
  for _, dt in ipairs(HALVES) do
    dtype(tensor({ 1 }, dt):sum(), dt)
    dtype(tensor({ 1 }, dt):mean(), dt)
    dtype(softmax(tensor({ 1, 2 }, dt)), dt)
    dtype(tensor({ { 1, 2 } }, dt):matmul(tensor({ { 1 }, { 2 } }, dt)), dt)
  end
end)

-- ---- values -----------------------------------------------------------------

case("wrap", "integers wrap at their width, also in the middle of a kernel",
  function()
  for dt, low in pairs(SIGNED) do
    local x, high = tensor({ low, 3 }, dt), -(low + 1)
    eq(x - 1, { high, 2 })
    eq((x - 1) // 2, { high // 2, 1 })
    eq(x * x, { 0, 9 })
    eq(-x, { low, -3 })
    eq(x << 1, { 0, 6 })
    eq((x - 1) >> 1, { high >> 1, 1 })
  end
  for dt, high in pairs(UNSIGNED) do
    local x = tensor({ high, 3 }, dt)
    eq(x + 1, { 0, 4 })
    eq((x + 1) // 2, { 0, 2 })
    eq(x * x, { 1, 9 })
    eq(-x, { 1, high - 2 })
    eq(~x, { 0, high - 3 })
    eq(x // tensor({ 0, 0 }, dt), { high, high })
    eq(x % tensor({ 0, 2 }, dt), { high, 1 })
    eq(x >> 100, { 0, 0 })
  end
  eq(tensor({ 100, 100 }, "i8"):matmul(tensor({ 2, 1 }, "i8")), 44)
  eq(tensor({ { 16 } }, "u8"):matmul(tensor({ { 17 } }, "u8")), { { 16 } })
  eq(tensor({ 200, 100 }, "u8"):cast("i8"), { -56, 100 })
end)

case("compare", "comparisons with a number go by value", function()
  local u = tensor({ 0, 255 }, "u8")
  eq(u:lt(-1), { false, false })
  eq(u:ge(-1), { true, true })
  eq(u:lt(256), { true, true })
  eq(u:eq(300), { false, false })
  eq(u:ne(-1), { true, true })
  eq(u:gt(254.5), { false, true })
  eq(tensor({ -128 }, "i8"):gt(-200), { true })
  eq(tensor({ -128 }, "i8"):le(-128.5), { false })
  eq(full({ 1 }, 2.0 ^ 63, { dtype = "f64" }):cast("u64"):gt(-1), { true })
  eq(full({ 1 }, 2.0 ^ 63, { dtype = "f64" }):cast("u64"):eq(2.0 ^ 63),
    { true })
  eq(full({ 1 }, 2.0 ^ 63, { dtype = "f64" }):cast("u64"):lt(2.0 ^ 64),
    { true })
end)

-- Sums of two half numbers are exact in f64, so its one rounding is the right
-- one; the same of products.
case("halves", "every op of halves rounds once, also when it is fused",
  function()
  seed(3)
  for _, dt in ipairs(HALVES) do
    local a, b = (randn(2000) * 3):cast(dt), (randn(2000) * 3):cast(dt)
    local x, y = a:cast("f64"), b:cast("f64")
    local s, p = (x + y):cast(dt), (x * y):cast(dt)
    eq(a + b, s)
    eq(a * b, p)
    eq((a + b) * b, (s:cast("f64") * y):cast(dt))
    eq((a * b - a) / b, ((p:cast("f64") - x):cast(dt):cast("f64") / y):cast(dt))
    eq(sqrt(abs(a)), sqrt(abs(x)):cast(dt))
    eq(a:sum(), x:cast("f32"):sum():cast(dt))
    eq(a:var(), x:cast("f32"):var():cast(dt))
    eq(std(a), std(x:cast("f32")):cast(dt))
    eq(norm(a), norm(x:cast("f32")):cast(dt))
    eq(softmax(a), softmax(x:cast("f32")):cast(dt))
    local m = a:reshape(40, 50)
    eq(layer_norm(m), layer_norm(m:cast("f32")):cast(dt))
    eq(logsumexp(m, 2), logsumexp(m:cast("f32"), 2):cast(dt))
    eq(m:matmul(m.T), m:cast("f32"):matmul(m.T:cast("f32")):cast(dt))
    eq(m:max { axis = 1 }, m:cast("f64"):max { axis = 1 })
    eq(argmin(m, { axis = 2 }), argmin(m:cast("f64"), { axis = 2 }))
  end
end)

case("edges", "halves overflow to infinity and keep denormals", function()
  local h = tensor({ 65504, 60000, 6e-8, -6e-8, 0.5 }, "f16")
  eq(h + h, { inf, inf, 2 * 2.0 ^ -24, -2 * 2.0 ^ -24, 1 })
  eq(tensor({ 65519, 65520, 2.0 ^ -25, 2.0 ^ -25 * 1.01 }, "f16"),
    { 65504, inf, 0, 2.0 ^ -24 })
  eq(tensor({ 1e-40 }, "bf16") * 2, { vals(tensor({ 1e-40 }, "bf16"))[1] * 2 })
  same(tensor({ -1e-9, 1e-9 }, "f16"), { -0.0, 0.0 })
  eq(tensor({ 3e38 }, "bf16") * 2, { inf })
  eq(tensor({ 256, 1 }, "bf16"):sum(), 256)
  eq(tensor({ 256, 3 }, "bf16"):sum(), 260)
  eq(isnan(tensor({ nan, 1 }, "f16")), { true, false })
  eq(nan_to_num(tensor({ inf, -inf, nan }, "f16")), { 65504, -65504, 0 })
end)

-- ---- creation, positions, copies --------------------------------------------

case("create", "every dtype can be made, filled, drawn and joined", function()
  for _, dt in ipairs(ALL) do
    if dt ~= "bool" then
      eq(tensor({ 1, 2, 3 }, dt), { 1, 2, 3 })
      eq(arange(3, { dtype = dt }), { 1, 2, 3 })
      eq(full({ 2 }, 7, { dtype = dt }), { 7, 7 })
    end
    for _, x in ipairs { zeros({ 2 }, { dtype = dt }), ones({ 2 }, dt),
      eye(2, { dtype = dt }), zeros_like(ones({ 1 }, { dtype = dt })),
      one_hot(tensor { 2 }, 3, dt) } do
      dtype(x, dt)
    end
    local zero = 0
    if dt == "bool" then zero = false end
    local a, b = ones({ 2, 2 }, { dtype = dt }), zeros({ 1, 2 }, { dtype = dt })
    local c = cat({ a, b }, 1)
    dtype(c, dt)
    eq(c:cast("i64"), { { 1, 1 }, { 1, 1 }, { 0, 0 } })
    eq(c[{ 3, 1 }]:cast("i64"), 0)
    eq(c.T[1]:cast("i64"), { 1, 1, 0 })
    eq(take(c, tensor { 3, 1 }):cast("i64"), { { 0, 0 }, { 1, 1 } })
    eq(a:set(1, zero):cast("i64"), { { 0, 0 }, { 1, 1 } })
    eq(where(c:eq(c), c, c):cast("i64"), { { 1, 1 }, { 1, 1 }, { 0, 0 } })
    eq(pad(b, { { 1, 0 }, { 0, 0 } }, { value = dt == "bool" or 1 })
      :cast("i64"), { { 1, 1 }, { 0, 0 } })
    check(equal(c, tensor(c:table(), dt)))
  end
  eq(arange(0.1, 0.3, 0.1, { dtype = "f16" }), tensor({ 0.1, 0.2, 0.3 }, "f16"))
  dtype(linspace(0, 1, 3, { dtype = "bf16" }), "bf16")
  for _, dt in ipairs { "f16", "bf16", "f64" } do
    dtype(rand(2, { dtype = dt }), dt)
    dtype(randn(2, { dtype = dt }), dt)
  end
end)

case("positions", "every integer dtype holds positions", function()
  local x = tensor { 10, 20, 30 }
  for _, dt in ipairs { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" } do
    eq(take(x, tensor({ 3, 1 }, dt)), { 30, 10 })
    eq(x[tensor({ 2 }, dt)], { 20 })
    fails(function() return vals(take(x, tensor({ 4 }, dt))) end, "4 is outside")
  end
  eq(take(x, tensor({ -1 }, "i8")), { 30 })
  local huge = full({ 1 }, 0, { dtype = "u64" }) - tensor({ 1 }, "u64")
  fails(function() return vals(take(x, huge)) end, "outside")
end)

case("add_at", "adding at positions rounds once", function()
  local core = require "tsh.core"
  for _, dt in ipairs(HALVES) do
    local x = zeros({ 2 }, { dtype = dt })
    local y = core.index_add(x, zeros({ 4096 }, { dtype = "i64" }),
      ones({ 4096 }, { dtype = dt }), 1)
    dtype(y, dt)
    eq(y, { 4096, 0 })
  end
  eq(core.index_add(tensor({ 250, 0 }, "u8"), tensor { 0, 0, 1 },
    tensor({ 5, 6, 7 }, "u8"), 1), { 5, 7 })
end)

-- ---- what is shown ----------------------------------------------------------

case("shown", "digits that lead back to the same half", function()
  local function shows(x, want)
    if tostring(x) ~= want then error(tostring(x), 2) end
  end
  shows(tensor(0.1, "f16"), "f16[] 0.1")
  shows(tensor(1 / 3, "f16"), "f16[] 0.3333")
  shows(tensor(1 / 3, "bf16"), "bf16[] 0.334")
  shows(tensor(65504, "f16"), "f16[] 65504")
  shows(tensor(256, "bf16"), "bf16[] 256")
  shows(tensor({ 1.5, -2 }, "f16"), "f16[2] [ 1.5000, -2.0000]")
  shows(tensor({ 1.5, 0.25 }, "bf16"), "bf16[2] [1.5000, 0.2500]")
  shows(tensor({ 0.001, 0.25 }, "bf16"), "bf16[2] [0.0010, 0.2500]")
  shows(tensor({ 1, 200 }, "u8"), "u8[2] [  1, 200]")
  shows(tensor({ -128, 7 }, "i8"), "i8[2] [-128,    7]")
  shows(tensor({ nan, inf }, "f16"), "f16[2] [nan, inf]")
  check(tensor({ 0.1 }, "f16"):repr() == 'tensor({0.1}, {dtype = "f16"})')
end)

case("repr", "every half is read back from its text", function()
  for _, dt in ipairs(HALVES) do
    local bits = arange(0, 65535):reshape(256, 256)
    local e, m = dt == "f16" and 10 or 7, nil
    local fraction, exponent = bits & ((1 << e) - 1), (bits >> e) & 31
    m = (fraction:cast("f64") + (1 << e)) * 2.0 ^ (exponent:cast("f64") - 20)
    local x = m:cast(dt)
    local y = load("return " .. x:repr())()
    check(equal(x, y), dt)
    dtype(y, dt)
  end
end)

-- ---- gradients --------------------------------------------------------------

case("grad", "gradients of halves are halves, computed as in f32", function()
  local function f(x)
    return sum(softmax(x * 2) * x) + mean(x:square()) + x:max()
      + sum(x:reshape(2, 2):matmul(x:reshape(2, 2)))
  end
  for _, dt in ipairs(HALVES) do
    local x = tensor({ 0.5, -1.25, 2, 0.75 }, dt)
    local g, want = grad(f)(x), grad(f)(x:cast("f32"))
    dtype(g, dt)
    near(g:cast("f32"), want, dt == "f16" and 6e-3 or 5e-2)
    eq(grad(function(z) return mean(z) end)(ones({ 1000 }, { dtype = dt })),
      full({ 1000 }, 0.001, { dtype = dt }))
    eq(grad(function(z) return z:max() end)(ones({ 4096 }, { dtype = dt })),
      full({ 4096 }, 2.0 ^ -12, { dtype = dt }))
  end
end)

-- ---- a device that lacks a dtype --------------------------------------------

-- The opaque device stores bf16 and converts it, and has no f64 at all.
case("lacking", "what a device lacks is computed by cpu, and counted",
  function()
  if not pcall(tsh.device, "opaque") then return end
  local ok, e = pcall(function()
    local before = tsh.counters().bytes_moved
    local x, h = tensor({ 1, 2, 3 }, "bf16"), tensor({ 1, 2, 3 }, "f16")
    check(tostring(x.device):find "opaque")
    eq(h * h, { 1, 4, 9 })
    eq(x:cast("f32") * 2, { 2, 4, 6 })
    check(tsh.counters().bytes_moved == before, "moved for nothing")
    local y = x * x + x
    dtype(y, "bf16")
    check(tostring(y.device):find "opaque")
    eq(y, { 2, 6, 12 })
    check(tsh.counters().bytes_moved > before, "not counted")
    eq(argmax(x), 3)
    eq(x:sum(), 6)
    fails(function() return x:cast("f64") end, "opaque.* has no f64")
    dtype(tensor({ 1 }, "u8"):sum(), "u64")
  end)
  tsh.device("cpu")
  if not ok then error(e, 0) end
end)

done()
