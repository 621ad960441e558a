-- t[index], and the tensors that differ at an index.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local t = arange(12):reshape(3, 4)
local v = arange(5) * 10

case("number", "takes a position and drops the axis", function()
  eq(t[1], { 1, 2, 3, 4 })
  eq(t[-1], { 9, 10, 11, 12 })
  eq(t[{ 2, 3 }], 7)
  eq(t[{ -1, -1 }], 12)
  eq(t[2.0], { 5, 6, 7, 8 })
  eq(v[3], 30)
  shape(v[3], {})
  fails(function() return t[0] end, "positions count from 1")
  fails(function() return t[4] end, "index: 4 is outside 1..3 of axis 1")
  fails(function() return t[4] end, ":rows%(%)")
  fails(function() return t[-4] end, "outside")
  fails(function() return t[{ 1, 5 }] end, "5 is outside 1..4 of axis 2")
  fails(function() return t[1.5] end, "whole number")
  fails(function() return t[{ 1, 2, 3 }] end, "3 positions for a tensor of 2")
  fails(function() return v[{ 2, 5 }] end, "t%[{{2,5}}%] are the rows from 2 to 5")
  fails(function() return t[{ 2, 9 }] end, "t%[{{2,9}}%] are the rows from 2 to 9")
  fails(function() return tensor(1)[1] end, "has no positions")
  fails(function() return t[true] end, "a boolean is no index")
  fails(function() return t[{ 1, nil, 2 }] end)
  fails(function() return t[{ axis = 1 }] end, "no index")
end)

case("range", "includes its end", function()
  eq(t[{ { 2, 3 } }], { { 5, 6, 7, 8 }, { 9, 10, 11, 12 } })
  eq(t[{ {}, { 2, 3 } }], { { 2, 3 }, { 6, 7 }, { 10, 11 } })
  eq(t[{ { 1, 3, 2 }, 1 }], { 1, 9 })
  eq(v[{ { -2, -1 } }], { 40, 50 })
  eq(v[{ { 1, -1, 2 } }], { 10, 30, 50 })
  eq(v[{ { -1, 1, -1 } }], { 50, 40, 30, 20, 10 })
  eq(v[{ { 5, 1, -2 } }], { 50, 30, 10 })
  eq(v[{ { 4, 4 } }], { 40 })
  shape(v[{ { 5, 4 } }], { 0 })
  shape(v[{ { 6, 5 } }], { 0 })
  shape(v[{ { 1, 0 } }], { 0 })
  shape(v[{ { 1, 2, -1 } }], { 0 })
  shape(zeros(0)[{ { 1, 0 } }], { 0 })
  shape(t[{ {}, {} }], { 3, 4 })
  fails(function() return v[{ { 3, 6 } }] end, "range {3,6} is outside 1..5")
  fails(function() return v[{ { 3, 6 } }] end, "data.batches")
  fails(function() return v[{ { 0, 3 } }] end, "position 0")
  fails(function() return v[{ { 1, 3, 0 } }] end, "step of a range cannot be 0")
  fails(function() return v[{ { -9, 3 } }] end, "outside")
  fails(function() return v[{ { 8, 7 } }] end, "outside")
  fails(function() return v[{ { 1 } }] end, "two or three numbers")
  fails(function() return v[{ { 1, 2, 1, 1 } }] end, "two or three numbers")
  fails(function() return v[{ { 1, "x" } }] end, "whole number")
end)

case("rest", "names the axes in between", function()
  local c = arange(24):reshape(2, 3, 4)
  eq(c[{ "...", 1 }], { { 1, 5, 9 }, { 13, 17, 21 } })
  eq(c[{ 2, "...", 4 }], { 16, 20, 24 })
  eq(c[{ 1, "..." }], c[1])
  shape(c[{ "..." }], { 2, 3, 4 })
  shape(c[{ 1, 2, 3, "..." }], {})
  shape(c[{ newaxis }], { 1, 2, 3, 4 })
  shape(c[{ "...", newaxis }], { 2, 3, 4, 1 })
  shape(c[{ 1, newaxis, { 1, 2 } }], { 1, 2, 4 })
  fails(function() return c[{ "...", "..." }] end, "one \"...\"")
  fails(function() return c[{ "what" }] end, "a string is no index")
end)

case("tensor", "takes positions", function()
  eq(t[tensor { 3, 1 }], { { 9, 10, 11, 12 }, { 1, 2, 3, 4 } })
  eq(t[{ { 2, 3 }, tensor { 1, -1 } }], { { 5, 8 }, { 9, 12 } })
  eq(t[{ 1, tensor { { 1, 2 }, { 3, 4 } } }], { { 1, 2 }, { 3, 4 } })
  shape(t[{ {}, tensor { { 1, 2 } } }], { 3, 1, 2 })
  eq(t[tensor(2)], { 5, 6, 7, 8 })
  shape(t[zeros(0, "i64")], { 0, 4 })
  fails(function() return t[tensor { 4 }]:table() end, "4 is outside 1..3")
  fails(function() return t[tensor { 1.5 }] end, "must be integers")
  fails(function() return zeros(0, 2)[tensor { 1 }] end,
    "index: axis 1 has no element")
end)

-- Values and gradients of many indices stand in the golden file index.txt.
case("tensors", "several pick in step", function()
  local i, j = tensor { 1, 3 }, tensor { -1, 2 }
  eq(t[{ i, j }], { 4, 10 })
  eq(t[{ i:view(2, 1), j }], { { 4, 2 }, { 12, 10 } })
  eq(t[{ i, tensor(1) }], { 1, 9 })
  local c = arange(24):view(2, 3, 4)
  shape(c[{ tensor { 1, 2, 1 }, {}, tensor { 1, 1, 4 } }], { 3, 3 })
  shape(t[{ zeros(0, "i64"), zeros(0, "i64") }], { 0 })
  fails(function() return t[{ i, tensor { 1, 2, 3 } }] end,
    "index: positions %[2%] and %[3%] do not broadcast")
  fails(function() return t[{ i, tensor { 1, 5 } }]:table() end,
    "take: index 5 is outside 1..4 %(element 2%)")
  fails(function() return t[{ i, j, i }] end, "3 positions for a tensor of 2")
  fails(function() return ones(1, 1, 1, 1, 1, 1, 1, 1)[ones(1, 1, "i64")] end,
    "at most 8 axes")
end)

case("mask", "stands for the axes that it covers", function()
  eq(t[tensor { true, false, true }], { { 1, 2, 3, 4 }, { 9, 10, 11, 12 } })
  eq(t[t:gt(10)], { 11, 12 })
  eq(t[{ {}, tensor { false, true, true, false } }],
    { { 2, 3 }, { 6, 7 }, { 10, 11 } })
  eq(t[{ tensor { true, false, true }, 2 }], { 2, 10 })
  eq(t[{ tensor { true, false, true }, tensor { 1, -1 } }], { 1, 12 })
  shape(t[t:gt(99)], { 0 })
  shape(t[tensor { false, false, false }], { 0, 4 })
  shape(t[tensor(true)], { 1, 3, 4 })
  shape(t[{ "...", tensor(false) }], { 3, 4, 0 })
  eq(tensor(5)[tensor(true)], { 5 })
  shape(zeros(0, 3)[zeros(0, 3):gt(0)], { 0 })
  shape(zeros(0, 3)[zeros(0, "bool")], { 0, 3 })
  eq(ones(1, 1, 1, 1, 1, 1, 1, 2)[ones(1, 1, 1, 1, 1, 1, 1, 2, "bool")],
    { 1, 1 })
  fails(function() return t[tensor { true, false }] end,
    "index: a mask %[2%] does not fit the axes of %[3,4%] from axis 1 on")
  fails(function() return t[{ {}, t:gt(0) }] end, "3 positions for a tensor")
  fails(function() return t[zeros(3, "u8x")] end)
end)

case("mask held", "a finalizer that clears the index does no harm", function()
  local index = { t:gt(6), nil }
  local wide = { {}, tensor { true, false, true, false } }
  for _ = 1, 50 do
    setmetatable({}, { __gc = function() wide[2] = nil end })
    eq(t[index], { 7, 8, 9, 10, 11, 12 })
    collectgarbage("step")
    wide[2] = tensor { true, false, true, false }
    eq(t[wide][1], { 1, 3 })
  end
end)

case("slice", "is the same under a name", function()
  eq(slice(t, { 1, { 2, 3 } }), { 2, 3 })
  eq(t:slice(-1), { 9, 10, 11, 12 })
  fails(function() return slice(t) end, "needs an index")
end)

case("rows", "visits every row", function()
  local n, total = 0, 0
  for i, row in t:rows() do
    n = n + i
    total = total + row:sum():item()
  end
  check(n == 6 and total == 78)
  for _ in zeros(0, 3):rows() do error("no row") end
  fails(function() return tensor(1):rows() end, "has no rows")
  fails(function() for _ in ipairs(t) do end end, ":rows%(%)")
end)

case("assign", "is an error with a way out", function()
  fails(function() t[1] = 0 end, "t = t:set%(i, v%)")
  fails(function() t.name = 1 end, "'name' of a tensor cannot be assigned")
end)

-- ---- set and its kin -----------------------------------------------------------

case("set", "numbers and tensors, at positions and ranges", function()
  eq(v:set(2, 0), { 10, 0, 30, 40, 50 })
  eq(v:set({ { 2, 3 } }, 7), { 10, 7, 7, 40, 50 })
  eq(v:set({ { 1, 5, 2 } }, tensor { 1, 2, 3 }), { 1, 20, 2, 40, 3 })
  eq(v:set({ { -1, 1, -2 } }, tensor { 1, 2, 3 }), { 3, 20, 2, 40, 1 })
  eq(t:set(1, tensor { 0, 0, 0, 0 })[1], { 0, 0, 0, 0 })
  eq(t:set({ {}, 2 }, tensor { 7, 8, 9 })[{ {}, 2 }], { 7, 8, 9 })
  eq(t:set({ {}, 2 }, tensor { 7, 8, 9 })[{ {}, 1 }], { 1, 5, 9 })
  eq(t:set({ 3, 4 }, -1)[3], { 9, 10, 11, -1 })
  eq(t:set({ "...", 1 }, 0)[{ {}, 1 }], { 0, 0, 0 })
  eq(v, { 10, 20, 30, 40, 50 })
  eq(v:set({ { 5, 4 } }, 1), v)
  dtype(v:f32():set(1, tensor { 5 }), "f32")
  fails(function() return v:set(6, 0) end, "6 is outside 1..5")
  fails(function() return v:set(1) end, "takes an index and a value")
  fails(function() return v:set(1, 0.5) end, "0.5 does not fit i64")
  fails(function() return v:set(1, tensor { 0.5 }) end, "v:cast%(\"i64\"%)")
  fails(function() return v:set(1, "x") end, "got a string")
  fails(function() return v:set({ { 1, 2 } }, tensor { 1, 2, 3 }) end)
end)

case("set chain", "each is a new tensor", function()
  local x = zeros(4)
  local y = x
  for i = 1, 4 do y = y:set(i, i * i) end
  eq(y, { 1, 4, 9, 16 })
  eq(x, { 0, 0, 0, 0 })
  local s = arange(10)
  s = s:set({ { 1, 9 } }, s[{ { 2, 10 } }])
  eq(s, { 2, 3, 4, 5, 6, 7, 8, 9, 10, 10 })
  local r = arange(10)
  r = r:set({ { 2, 10 } }, r[{ { 1, 9 } }])
  eq(r, { 1, 1, 2, 3, 4, 5, 6, 7, 8, 9 })
end)

case("set positions", "of equal ones the last wins", function()
  eq(zeros(3):set(tensor { 2, 2 }, tensor { 5.0, 6.0 }), { 0, 6, 0 })
  eq(zeros(3):set(tensor { 3, 1 }, 4), { 4, 0, 4 })
  eq(zeros(3, 2):set(tensor { 1, -1 }, tensor { { 1.0, 2.0 }, { 3.0, 4.0 } }),
    { { 1, 2 }, { 0, 0 }, { 3, 4 } })
  eq(zeros(2, 3):set({ {}, tensor { 3, 3 } }, tensor { 7.0, 8.0 }),
    { { 0, 0, 8 }, { 0, 0, 8 } })
  eq(zeros(2, 3):set({ 1, tensor { 1, 3 } }, 1), { { 1, 0, 1 }, { 0, 0, 0 } })
  eq(zeros(2):set(zeros(0, "i64"), zeros(0)), { 0, 0 })
  fails(function() return zeros(2):set(tensor { 3 }, 1):table() end,
    "set: index 3 is outside 1..2")
end)

case("add", "and mul, min, max at an index", function()
  eq(v:add(2, 1), { 10, 21, 30, 40, 50 })
  eq(v:add({ { 2, 3 } }, tensor { 1, 2 }), { 10, 21, 32, 40, 50 })
  eq(v:mul({ { 4, 5 } }, 2), { 10, 20, 30, 80, 100 })
  eq(v:max({ { 1, 5 } }, 25), { 25, 25, 30, 40, 50 })
  eq(v:min({ { 1, 5 } }, 25), { 10, 20, 25, 25, 25 })
  eq(v:add(v), { 20, 40, 60, 80, 100 })
  eq(v:mul(2), { 20, 40, 60, 80, 100 })
  eq(zeros(3):add(tensor { 1, 1, 2 }, tensor { 1.0, 1.0, 1.0 }), { 2, 1, 0 })
  eq(zeros(3):add(tensor { 1, 1, 2 }, 1), { 2, 1, 0 })
  eq(zeros(3, 2):add_at(tensor { 2, 2, 3 }, ones(3, 2)),
    { { 0, 0 }, { 2, 2 }, { 1, 1 } })
  eq(zeros(2, 3):add({ {}, tensor { 3, 3 } }, ones(2, 2)),
    { { 0, 0, 2 }, { 0, 0, 2 } })
  fails(function() return v:add(1, 0.5) end, "without loss")
  eq(v:mul(tensor { 1, 1, 5 }, 2), { 40, 20, 30, 40, 100 })
  fails(function() return tensor { true }:add(tensor { 1 }, true) end,
    "add: there is no add of bool")
  eq(v:max(tensor { 1, 1, 2 }, tensor { 11, 12, 13 }), { 12, 20, 30, 40, 50 })
  eq(v:min(tensor { -1, -1 }, tensor { 7, 8 }), { 10, 20, 30, 40, 7 })
end)

case("set mask", "replaces where it is true", function()
  local x = tensor { 1.0, nan, -3.0 }
  eq(x:set(x:isnan(), 0), { 1, 0, -3 })
  eq(x:set(x:isnan(), tensor { 7.0 }), { 1, 7, -3 })
  eq(v:set(v:gt(25), tensor { 1, 2, 3 }), { 10, 20, 1, 2, 3 })
  eq(t:set(tensor { true, false, true }, tensor { 0, 0, 0, 1 })[{ {}, 4 }],
    { 1, 8, 1 })
  eq(t:set({ tensor { false, true, false }, { 1, 2 } }, 0)[2], { 0, 0, 7, 8 })
  eq(t:add({ t:gt(11) }, 100)[3], { 9, 10, 11, 112 })
  eq(t:mul({ 1, tensor { true, false, false, true } }, 3)[1], { 3, 2, 3, 12 })
  eq(t:max({ {}, tensor { true, false, false, false } }, 4)[{ {}, 1 }],
    { 4, 5, 9 })
  eq(v:set(v:gt(99), 1), v)
  same(tensor { -0.0, 1.0 }:add(tensor { false, true }, 1), { -0.0, 2 })
  eq(tensor { true, false }:set(tensor { 2 }, true), { true, true })
  fails(function() return v:set(v:gt(25), tensor { 1, 2 }):table() end,
    "set: values %[2%] do not broadcast to the place %[3%]")
  fails(function() return v:set(v:gt(25), 0.5) end, "0.5 does not fit i64")
  fails(function() return v:set(tensor { true }, 0) end,
    "a mask %[1%] does not fit")
end)

case("set gradients", "masks select", function()
  local inf1 = tensor({ inf, 1, 2 }, "f64")
  local m = tensor { false, true, true }
  eq(grad(function(s) return sum(inf1:mul(m, s)[{ { 2, 3 } }]) end)(
    tensor(3, "f64")), 3)
  eq(grad(function(x) return sum(x:mul(m, inf)[{ { 1, 1 } }]) end)(inf1),
    { 1, inf * 0, inf * 0 })
  local at = tensor { 1, 1 }
  local function product(p) return sum(p.x:mul(at, p.v)) end
  local d = grad(product)({ x = tensor({ 2, 3 }, "f64"),
    v = tensor({ 0, 5 }, "f64") })
  eq(d.x, { 0, 1 })
  eq(d.v, { 10, 0 })
  d = grad(product)({ x = tensor({ 2, 3 }, "f64"),
    v = tensor({ 0, 0 }, "f64") })
  eq(d.v, { 0, 0 })
  eq(gradat(function(x) return x[x:gt(1)] ^ 2 end, { 1, 2, 3 }), { 0, 4, 6 })
  eq(gradat(function(x) return grad(function(y)
    return sum(y[tensor { 1, 1, 2 }] ^ 3)
  end)(x) end, { 1, 2, 3 }), { 12, 12, 0 })
  eq(gradat(function(x) return grad(function(y)
    return sum(y:mul(tensor { 1, 1 }, y[{ { 2, 3 } }]) ^ 2)
  end)(x)[1] end, { 1, 2, 3 }), { 72, 72, 48 })
end)

case("limits", "of axes, and no element at all", function()
  local many = {}
  for i = 1, 7 do many[i] = newaxis end
  fails(function() return zeros(3, 4)[many] end, "at most 8 axes")
  many[8] = newaxis
  eq(tensor(5)[many]:sum(), 5)
  fails(function() return zeros(0)[1] end, "index: position 1: axis 1 has no")
  fails(function() return zeros(0):set(1, 1) end, "set: position 1")
  fails(function() return zeros(2)[0 / 0] end, "got nan")
  fails(function() return zeros(3):set(1, tensor { 1.0, 2.0 }) end,
    "set: values %[2%] do not broadcast to the place %[%]")
  fails(function() return zeros(3, 2):set(tensor { 1, 2 }, ones(3)) end,
    "set: values %[3%] do not broadcast to the place %[2,2%]")
  fails(function() return softmax(tensor(1.0)) end, "has no axes")
end)

-- Elements that lie in turn are taken apart, and put in turn, by vectors of
-- eight and four: rows of every length around them.
case("pairs", "columns in turn, taken apart and joined", function()
  for _, dtype in ipairs { "f32", "i32", "f64", "u8" } do
    for n = 1, 37 do
      local rows, a, b, joined = 3, {}, {}, {}
      for r = 1, rows do
        for i = 1, n do
          local v = (r * 7 + i) % 50
          a[#a + 1], b[#b + 1] = v + 2 * (v + 1), 2 * v + v + 1
          joined[#joined + 1] = v + 1
          joined[#joined + 1] = v + 2
        end
      end
      local x = tensor(joined):cast(dtype):reshape(rows, n, 2) - 1
      tsh.wait(x)
      local even = x[{ {}, {}, { 1, 1 } }]:reshape(rows, n)
      local odd = x[{ {}, {}, { 2, 2 } }]:reshape(rows, n)
      local p, q = even + 2 * odd, 2 * even + odd
      tsh.wait(p, q)
      eq(p:reshape(rows * n), a)
      eq(q:reshape(rows * n), b)
      -- Both parts want m, so that one kernel writes them.
      local m = p + q
      local both = cat({ (m - q - 2 * odd + 1):reshape(rows, n, 1),
        (m - p - 2 * even + 1):reshape(rows, n, 1) }, 3)
      eq(both:reshape(rows * n * 2), joined)
    end
  end
end)

done()
