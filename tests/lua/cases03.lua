-- Elementwise numbers, integers and casts: faults that users of other systems
-- met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local NUMBERS = { "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64" }

case("B021", "// floors and % takes the sign of the divisor", function()
  local a = { -7, 7, -7, 7, -1, 1, -5, 5, 0 }
  local b = { 2, 2, -2, -2, 3, -3, 3, -3, -4 }
  local q, r = {}, {}
  for i = 1, #a do q[i], r[i] = a[i] // b[i], a[i] % b[i] end
  for _, dt in ipairs(NUMBERS) do
    eq(tensor(a, dt) // tensor(b, dt), q)
    eq(tensor(a, dt) % tensor(b, dt), r)
  end
  -- a - r does not fit i8
  eq(tensor({ 120 }, "i8") // tensor({ -27 }, "i8"), { -5 })
  eq(tensor({ 2147483647 }, "i32") // -2, { -1073741824 })
  eq(tensor({ 7, -7 }, "i32") // 2, { 3, -4 })
  eq(tensor({ -1 }, "f32") % 5, { 4 })
  eq(tensor({ 5.5, -5.5 }, "f64") % -2, { 5.5 % -2, -5.5 % -2 })
  eq(7 // tensor({ 2, -2 }, "i64"), { 3, -4 })
end)

case("B023", "lowest integer // -1 and division by 0 do not kill the process",
  function()
  for _, p in ipairs { { "i8", -128 }, { "i16", -32768 },
    { "i32", -2147483648 }, { "i64", math.mininteger } } do
    local dt, m = p[1], p[2]
    for _, n in ipairs { 1, 7, 64 } do
      local t = {}
      for i = 1, n do t[i] = m end
      local x = tensor(t, dt)
      eq(x // tensor({ -1 }, dt), t)
      eq(x % tensor({ -1 }, dt), zeros({ n }, { dtype = dt }))
      eq(x % tensor({ 0 }, dt), t)
      eq(x // tensor({ 0 }, dt), full({ n }, -1, { dtype = dt }))
      eq(-x, t)
      eq(abs(x), t)
    end
  end
end)

case("B025", "integer powers are exact, not taken through floats", function()
  local x = pow(tensor({ 3, -3, 94906267, 2 }, "i64"),
    tensor({ 39, 39, 2, 62 }, "i64"))
  dtype(x, "i64")
  eq(x, { 4052555153018976267, -4052555153018976267, 9007199515875289,
    4611686018427387904 })
  eq(pow(tensor({ 94906267 }, "i64"), 2), { 9007199515875289 })
  eq(pow(tensor({ 0, 1, -1, -1 }, "i32"), tensor({ 0, 5, 5, 4 }, "i32")),
    { 1, 1, -1, 1 })
  eq(pow(tensor({ 2, 5, 1, -1 }, "i32"), tensor({ -1, -3, -2, -3 }, "i32")),
    { 0, 0, 1, -1 })
  eq(pow(tensor({ 2 }, "i8"), tensor({ 7 }, "i8")), { -128 })
  fails(function() return tensor({ 2 }, "i64") ^ -1 end)
  eq(tensor({ 3 }, "i64") ^ 0.5, vals(tensor({ 3 }, "f32") ^ 0.5))
end)

case("B027", "float to integer casts saturate, nan gives 0, at every lane",
  function()
  local f = { nan, inf, -inf, 3e9, -3e9, 1e20, -1.9, 1.9, 300, -300 }
  eq(tensor(f, "f32"):cast("i8"),
    { 0, 127, -128, 127, -128, 127, -1, 1, 127, -128 })
  eq(tensor(f, "f32"):cast("u8"), { 0, 255, 0, 255, 0, 255, 0, 1, 255, 0 })
  lanes(255, function(n)
    return full({ n }, 1e10, { dtype = "f16" }):cast("u8")
  end, "f16 inf")
  eq(tensor(f, "f32"):cast("i32"), { 0, 2147483647, -2147483648, 2147483647,
    -2147483648, 2147483647, -1, 1, 300, -300 })
  eq(tensor(f, "f64"):cast("i64"), { 0, math.maxinteger, math.mininteger,
    3000000000, -3000000000, math.maxinteger, -1, 1, 300, -300 })
  eq(tensor({ 2147483648, -2147483649, 2147483520 }, "f64"):cast("i32"),
    { 2147483647, -2147483648, 2147483520 })
  eq(tensor({ 2.0 ^ 63, -2.0 ^ 63, 2.0 ^ 62 }, "f32"):cast("i64"),
    { math.maxinteger, math.mininteger, 1 << 62 })
  lanes(0, function(n)
    return full({ n }, nan, { dtype = "f32" }):cast("i32")
  end, "nan")
  lanes(2147483647, function(n)
    return full({ n }, inf, { dtype = "f32" }):cast("i32")
  end, "inf")
  eq(tensor({ nan, 0.0, -0.0, 0.5 }, "f64"):cast("bool"),
    { true, false, false, true })
end)

case("B029", "i64 and f64 to f32, f16 and bf16 round once", function()
  -- Just above the middle of 1 and 1 + 2^-7, and the middle itself.
  eq(tensor({ 1 + 2.0 ^ -8 + 2.0 ^ -40 }, "f64"):cast("bf16"), { 1.0078125 })
  eq(tensor({ 1 + 2.0 ^ -8 }, "f64"):cast("bf16"), { 1 })
  eq(tensor({ 3 + 2.0 ^ -7 + 2.0 ^ -40 }, "f64"):cast("bf16"), { 3.015625 })
  eq(tensor({ 1 + 2.0 ^ -11 + 2.0 ^ -40, 1 + 2.0 ^ -11 }, "f64"):cast("f16"),
    { 1 + 2.0 ^ -10, 1 })
  eq(tensor({ 16842753, 16842752, 33685505 }, "i64"):cast("bf16"),
    { 16908288, 16777216, 33816576 })
  eq(tensor({ (1 << 60) + (1 << 52) + 1 }, "i64"):cast("bf16"),
    { 2.0 ^ 60 + 2.0 ^ 53 })
  eq(full({ 1 }, (1 << 60) + (1 << 52) + 1, { dtype = "bf16" }),
    { 2.0 ^ 60 + 2.0 ^ 53 })
  eq(tensor({ nan }, "f32"):cast("bf16"), { nan })
  eq(tensor({ 1 + 2.0 ^ -24 + 2.0 ^ -50, 1 + 2.0 ^ -24 }, "f64"):cast("f32"),
    { 1 + 2.0 ^ -23, 1 })
  -- Through f64 first, 2^60 + 2^36 + 1 would lie in the middle and go down.
  eq(tensor({ (1 << 60) + (1 << 36) + 1, (1 << 60) + (1 << 36) },
    "i64"):cast("f32"), { 2.0 ^ 60 + 2.0 ^ 37, 2.0 ^ 60 })
  eq(tensor({ nan }, "f64"):cast("f32"), { nan })
  eq(tensor({ 1e300, -1e300, 1e-300 }, "f64"):cast("f32"), { inf, -inf, 0 })
end)

case("B031", "round goes half to even; large and near-half values stay",
  function()
  local x = { -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 8388609, -3.5 }
  same(round(tensor(x, "f32")),
    { -2.0, -2.0, -0.0, 0.0, 2.0, 2.0, 0.0, 8388609.0, -4.0 })
  same(round(tensor({ 4503599627370497.5, 0.49999999999999994 }, "f64")),
    { 4503599627370498.0, 0.0 })
  same(trunc(tensor({ -0.5, 0.5 }, "f32")), { -0.0, 0.0 })
  same(ceil(tensor({ -0.5 }, "f32")), { -0.0 })
  eq(floor(tensor({ -2.0000002, 16777216, -1e30 }, "f32")),
    { -3, 16777216, vals(tensor(-1e30, "f32")) })
  eq(floor(tensor({ 7 }, "i32")), { 7 })
  same(frac(tensor({ -1.25, 1.25, -2.0 }, "f64")), { -0.25, 0.25, 0.0 })
end)

case("B033", "clamp passes nan, swapped bounds give the upper", function()
  for _, dt in ipairs { "f16", "bf16", "f32", "f64" } do
    eq(clamp(tensor({ nan, 5, -5, 0.5 }, dt), 0, 1), { nan, 1, 0, 0.5 })
    eq(clamp(tensor({ 5, 0 }, dt), 3, 1), { 1, 1 })
    eq(clamp(tensor({ 0.5 }, dt), nan, 1), { nan })
    eq(clamp(tensor({ 0.5 }, dt), 0, nan), { nan })
    eq(clamp(tensor({ -inf, inf }, dt), -3, 3), { -3, 3 })
    eq(relu(tensor({ nan, -1, 2 }, dt)), { nan, 0, 2 })
  end
  lanes(nan, function(n) return clamp(full({ n }, nan), 0, 1) end)
  eq(clamp(tensor({ -5, 300 }, "i32"), 0, 255), { 0, 255 })
  eq(clamp(tensor({ 1, 5, 9 }, "i64"), { max = 5 }), { 1, 5, 5 })
  eq(clamp(tensor({ 1, 5, 9 }, "i64"), { min = 5 }), { 5, 5, 9 })
  eq(clamp(tensor({ 1.0, 5, 9 }, "f32"), tensor({ 2, 2, 2 }, "f32"), 8),
    { 2, 5, 8 })
end)

case("B035", "a Lua number beside an f64 tensor keeps its f64 value", function()
  local x = tensor({ 1 }, "f64")
  dtype(x * 0.1, "f64")
  eq(x * 0.1, { 0.1 })
  eq(0.1 * x, { 0.1 })
  eq(x - 1 + math.pi, { math.pi })
  eq(full({ 2 }, 0.37, { dtype = "f64" }), { 0.37, 0.37 })
  eq(where(tensor({ true, false }), tensor({ 1, 2 }, "f64"), 0.1), { 1, 0.1 })
  eq(clamp(tensor({ 5, -5 }, "f64"), 0.1, 0.3), { 0.3, 0.1 })
  eq(maximum(tensor({ 0 }, "f64"), 0.1), { 0.1 })
  eq(pad(tensor({ 1 }, "f64"), { { 1, 0 } }, { value = 0.1 }), { 0.1, 1 })
  eq(tensor({ 0 }, "f64"):set({ 1 }, 0.1), { 0.1 })
  eq(tensor({ 0 }, "i64") + 9007199254740993, { 9007199254740993 })
  eq(tensor({ 9007199254740993 }, "i64"):eq(9007199254740992.0), { false })
end)

case("B037", "hypot without overflow on the way", function()
  for _, dt in ipairs { "f32", "f64" } do
    rel(hypot(tensor({ 2e38, 3e-30, 3, 0 }, dt), tensor({ 2e38, 4e-30, 4, 0 },
      dt)), { 2.8284271e38, 5e-30, 5, 0 }, 1e-6)
  end
  rel(hypot(tensor({ 1e308, 3e-300 }, "f64"), tensor({ 1e308, 4e-300 }, "f64")),
    { math.sqrt(2) * 1e308, 5e-300 }, 1e-14)
  eq(hypot(tensor({ inf, -inf, nan, nan }, "f64"),
    tensor({ nan, 1, inf, 1 }, "f64")), { inf, inf, inf, nan })
end)

case("B039", "six-axis broadcasting", function()
  local s = ones({ 1, 1, 2, 1, 1, 2 }) + ones({ 2, 1 })
  shape(s, { 1, 1, 2, 1, 2, 2 })
  eq(s:min(), 2)
  eq(s:max(), 2)
  local a = arange(1, 6):reshape(1, 1, 1, 1, 1, 6)
    + 10 * arange(1, 6):reshape(1, 6, 1)
  shape(a, { 1, 1, 1, 1, 6, 6 })
  eq(a[{ 1, 1, 1, 1, 5, 2 }], 52)
  local m = arange(1, 2):reshape(2, 1, 1, 1, 1, 1, 1, 1)
    * arange(1, 3):reshape(1, 1, 1, 1, 1, 1, 1, 3)
  eq(m:reshape(6), { 1, 2, 3, 2, 4, 6 })
  shape(zeros({ 0, 1 }) + zeros({ 1, 3 }), { 0, 3 })
  shape(zeros({ 0 }) + zeros({ 1 }), { 0 })
  fails(function() return zeros({ 0 }) + zeros({ 2 }) end)
end)

done()
