-- Views, indexing, empty shapes, matmul: faults that users of other systems
-- met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("B061", "slices with a negative step", function()
  local a = arange(1, 10)
  eq(a[{ { -1, 1, -1 } }], { 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 })
  eq(a[{ { 10, 3, -1 } }], { 10, 9, 8, 7, 6, 5, 4, 3 })
  eq(a[{ { 9, 2, -3 } }], { 9, 6, 3 })
  eq(a[{ { 1, 10, 4 } }], { 1, 5, 9 })
  shape(a[{ { 5, 4 } }], { 0 })
  local m = arange(1, 12):reshape(3, 4)
  eq(m[{ { 3, 1, -2 }, { 4, 1, -3 } }], { { 12, 9 }, { 4, 1 } })
  eq(m[{ {}, { -1, 1, -1 } }]:sum { axis = 1 }, { 24, 21, 18, 15 })
  eq(flip(m[{ { -1, 1, -1 } }], 1), m)
  eq(flip(m), m:reshape(12)[{ { -1, 1, -1 } }]:reshape(3, 4))
  eq(m[{ { -1, 1, -1 } }] + m,
    { { 10, 12, 14, 16 }, { 10, 12, 14, 16 }, { 10, 12, 14, 16 } })
  maybe(function() return a[{ { 8, 12 } }] end,
    function(v) eq(v, { 8, 9, 10 }) end)
  maybe(function() return a[{ { 13, 9, -1 } }] end,
    function(v) eq(v, { 10, 9 }) end)
  fails(function() return vals(a[{ { 1, 10, 0 } }]) end)
end)

case("B063", "a slice before an index tensor keeps its bounds", function()
  local a = arange(0, 19):reshape(4, 5)
  local i = tensor({ 1, 2 }, "i64")
  eq(take(a[{ { 2, 3 } }], i, { axis = 2 }), { { 5, 6 }, { 10, 11 } })
  eq(take(a[{ { -2, -1 } }], i, { axis = 2 }), { { 10, 11 }, { 15, 16 } })
  eq(take(a[{ { 2, 3 } }], tensor({ -1, 1 }, "i64"), { axis = 1 }),
    { { 10, 11, 12, 13, 14 }, { 5, 6, 7, 8, 9 } })
  shape(take(a[{ { 3, 2 } }], i, { axis = 2 }), { 0, 2 })
end)

case("B063", "a slice beside an index tensor keeps its bounds", function()
  local a = arange(0, 19):reshape(4, 5)
  local i = tensor({ 1, 2 }, "i64")
  eq(a[{ { 2, 3 }, i }], { { 5, 6 }, { 10, 11 } })
  eq(a[{ { -2, -1 }, i }], { { 10, 11 }, { 15, 16 } })
  maybe(function() return a[{ { -100, 4 }, i }] end,
    function(v) eq(v, { { 0, 1 }, { 5, 6 }, { 10, 11 }, { 15, 16 } }) end)
  maybe(function() return a[{ { 3, 100 }, i }] end,
    function(v) eq(v, { { 10, 11 }, { 15, 16 } }) end)
  shape(a[{ { 3, 2 }, i }], { 0, 2 })
end)

case("B065", "an index out of range is an error", function()
  local a = arange(1, 5)
  local function at(...) return take(a, tensor({ ... }, "i64")) end
  fails(function() return vals(at(6)) end)
  fails(function() return vals(at(0)) end)
  fails(function() return vals(at(-6)) end)
  fails(function() return vals(a[6]) end)
  fails(function() return vals(a[0]) end)
  fails(function()
    return vals(take(zeros({ 256 }), tensor({ 1, 2, 65536 }, "i64")))
  end)
  fails(function() return vals(at(1 << 40)) end)
  fails(function() return vals(at(math.mininteger)) end)
  fails(function() return vals(one_hot(tensor({ 4 }, "i64"), 3)) end)
  fails(function() return vals(a:set({ 9 }, 1)) end)
  eq(a, { 1, 2, 3, 4, 5 })
  eq(at(-1, -5), { 5, 1 })
end)

case("B067", "concatenation with empty tensors", function()
  local row = tensor({ { 1, 2, 3, 4 } }, "f32")
  eq(cat({ zeros({ 0, 4 }), row }, { axis = 1 }), { { 1, 2, 3, 4 } })
  eq(cat({ tensor({ { 1 } }, "f32"), zeros({ 0, 1 }) }, { axis = 1 }),
    { { 1 } })
  shape(cat({ zeros({ 0, 4 }), zeros({ 0, 4 }) }, { axis = 1 }), { 0, 4 })
  shape(cat({ zeros({ 3, 0 }), ones({ 3, 2 }) }, { axis = 2 }), { 3, 2 })
  local acc = zeros({ 0, 2 })
  for i = 1, 5 do
    acc = cat({ acc, full({ 1, 2 }, i, { dtype = "f32" }) }, { axis = 1 })
  end
  eq(acc[{ {}, 1 }], { 1, 2, 3, 4, 5 })
end)

case("B069", "adding at positions accumulates duplicates", function()
  local function add(x, at, v)
    return x:add_at(tensor(at, "i64"), v)
  end
  eq(add(zeros({ 3 }), { 1, 1, 2 }, tensor({ 1, 1, 1 }, "f32")), { 2, 1, 0 })
  eq(add(zeros({ 3, 2 }), { 2, 2, 3 }, ones({ 3, 2 })),
    { { 0, 0 }, { 2, 2 }, { 1, 1 } })
  local i, v = {}, {}
  for k = 1, 10000 do i[k], v[k] = k % 7 + 1, 1 end
  eq(add(zeros({ 7 }, { dtype = "f64" }), i, tensor(v, "f64")),
    { 1428, 1429, 1429, 1429, 1429, 1428, 1428 })
  eq(add(zeros({ 2 }, { dtype = "i64" }), { 2, 2 }, tensor({ 5, 6 }, "i64")),
    { 0, 11 })
  fails(function() return vals(add(zeros({ 2 }), { 3 }, ones({ 1 }))) end)
end)

case("B069", "scatter-add accumulates duplicates; set keeps one of them",
  function()
  eq(scatter_add(zeros({ 3 }), tensor { 1, 1, 2 }, ones(3), { axis = 1 }),
    { 2, 1, 0 })
  local i, v = {}, {}
  for k = 1, 10000 do i[k], v[k] = k % 7 + 1, 1 end
  eq(scatter_add(zeros({ 7 }, { dtype = "f64" }), tensor(i), tensor(v, "f64"),
    { axis = 1 }), { 1428, 1429, 1429, 1429, 1429, 1428, 1428 })
  eq(scatter_add(zeros({ 2 }, { dtype = "i64" }), tensor { 2, 2 },
    tensor { 5, 6 }, { axis = 1 }), { 0, 11 })
  local s = zeros({ 2 }):set({ tensor({ 1, 1 }, "i64") }, tensor { 3.0, 4.0 })
  eq(s, { 4, 0 })
end)

case("B071", "offsets beyond 2^31 and 2^32 in views", function()
  local e = broadcast_to(tensor({ 7 }, "u8"):reshape(1, 1), { 70000, 70000 })
  eq(e[{ 70000, 70000 }], 7)
  eq(e[{ { 69999, 70000 }, { 69999, 70000 } }]:sum(), 28)
  local r = broadcast_to(arange(1, 70000):reshape(70000, 1), { 70000, 70000 })
  eq(r[{ 69999, 12345 }], 69999)
  eq(r[{ { 70000, 69998, -1 }, 70000 }], { 70000, 69999, 69998 })
  local c = broadcast_to(arange(1, 3), { 1500000000, 3 })
  eq(c[{ 1499999999, {} }], { 1, 2, 3 })
  eq(c[{ { 1499999999, 1500000000 }, 3 }] + 1, { 4, 4 })
  fails(function() return zeros({ 4294967296, 4294967296 }):sum():item() end)
end)

case("B073", "matmul over an inner axis of length 0 is zeros", function()
  for _, dt in ipairs { "f32", "f64", "i64", "i32", "f16", "bf16", "u8" } do
    local o = { dtype = dt }
    eq(ones({ 2, 0 }, o):matmul(ones({ 0, 3 }, o)),
      { { 0, 0, 0 }, { 0, 0, 0 } })
  end
  eq(ones({ 3, 2, 0 }):matmul(ones({ 3, 0, 3 })):sum(), 0)
  shape(ones({ 0, 4 }):matmul(ones({ 4, 3 })), { 0, 3 })
  eq(ones({ 2, 0 }):matmul(ones({ 0, 2 })) + ones({ 2, 2 }) * 2,
    { { 2, 2 }, { 2, 2 } })
  eq(ones({ 0 }):matmul(ones({ 0 })), 0)
  eq(conv1d(ones({ 0, 2, 5 }), ones({ 3, 2, 3 })):sum(), 0)
end)

case("B075", "dot products split over several calls, broadcast operands",
  function()
  local a = arange(1, 3):reshape(3, 1):cast("f64")
  eq(a:transpose(1, 2):matmul(a), { { 14 } })
  eq(tensor({ { 1, 2, 3 } }, "i32"):matmul(tensor({ { 4 }, { 5 }, { 6 } },
    "i32")), { { 32 } })
  eq((arange(1, 6):reshape(3, 2) * tensor({ { 2 } }, "i64")):sum { axis = 2 },
    { 6, 14, 22 })
  eq(broadcast_to(tensor({ { 2, 3 } }, "f32"), { 3, 2 }):matmul(
    broadcast_to(tensor({ { 1 }, { 1 } }, "f32"), { 2, 4 })),
    { { 5, 5, 5, 5 }, { 5, 5, 5, 5 }, { 5, 5, 5, 5 } })
  local k, o = 3000, { dtype = "f64" }
  eq(ones({ 1, k }, o):matmul(arange(1, k):cast("f64"):reshape(k, 1)),
    { { k * (k + 1) / 2 } })
  eq(ones({ 5, 1, k }, o):matmul(ones({ k, 1 }, o)):reshape(5),
    { k, k, k, k, k })
end)

done()
