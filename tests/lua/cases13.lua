-- Convolution, pooling, losses and random numbers: faults that users of other systems met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("B105", "max pooling pads with the lowest value, integers too", function()
  local x = -arange(16):reshape(1, 1, 4, 4)
  local o = { kernel = 3, stride = 2, padding = 1 }
  local want = { { { { -1, -2 }, { -5, -6 } } } }
  eq(max_pool2d(x:cast("f32"), o), want)
  for _, dt in ipairs { "i32", "i64" } do
    local y = max_pool2d(x:cast(dt), o)
    check(y.dtype == dt, y.dtype)
    eq(y, want)
  end
  local low = { kernel = 2, stride = 1, padding = 0 }
  eq(max_pool2d(full({ 1, 1, 2, 2 }, -inf), low), { { { { -inf } } } })
end)

case("B107", "pooling keeps nan", function()
  local x = tensor({ { { { nan, nan }, { 1, 2 } } } }, "f32")
  local o = { kernel = 2, stride = 2, padding = 0 }
  eq(max_pool2d(x, o), { { { { nan } } } })
  eq(max_pool2d(tensor({ { { { nan, nan, 5, 6 }, { nan, nan, 7, 8 } } } },
    "f32"), o), { { { { nan, 8 } } } })
  eq(avg_pool2d(x, o), { { { { nan } } } })
end)

case("B109", "grouped, depthwise, dilated and strided convolution at the border",
  function()
  local function f32(x) return x:cast("f32") end
  eq(conv2d(f32(arange(18):reshape(1, 2, 3, 3)),
    f32(arange(8):reshape(2, 1, 2, 2)), { stride = 2, padding = 2, groups = 2 }),
    { { { { 0, 0, 0 }, { 0, 37, 21 }, { 0, 23, 9 } },
      { { 0, 0, 0 }, { 0, 319, 165 }, { 0, 182, 90 } } } })
  eq(conv1d(f32(arange(7):reshape(1, 1, 7)), tensor({ { { 1, 10, 100 } } },
    "f32"), { stride = 4, padding = 2, dilation = 2 }), { { { 310, 753 } } })
  -- correlation, not flipped
  eq(conv1d(tensor({ { { 1, 2, 3 } } }, "f32"), tensor({ { { 1, 2 } } }, "f32"),
    {}), { { { 5, 8 } } })
  -- a stride above the kernel
  eq(conv1d(tensor({ { { 1, 2, 3, 4, 5 } } }, "f32"),
    tensor({ { { 7 } } }, "f32"), { stride = 3 }), { { { 7, 28 } } })
  local c = conv2d(ones({ 1, 1, 14, 14 }), ones({ 3, 1, 5, 5 }),
    { stride = 2, padding = 2 })
  shape(c, { 1, 3, 7, 7 })
  eq(c[{ 1, 3, 1, {} }], { 9, 15, 15, 15, 15, 15, 12 })
  eq(c[{ 1, 2, 4, 4 }], 25)
  eq(c[{ 1, 1, 7, 7 }], 16)
  fails(function() return conv1d(ones({ 1, 1, 2 }), ones({ 1, 1, 3 }), {}) end,
    "kernel of weights %[1,1,3%] reaches over 3 elements, x %[1,1,2%]")
  fails(function()
    return conv2d(ones({ 1, 3, 4, 4 }), ones({ 4, 1, 2, 2 }), { groups = 2 })
  end, "2 groups must divide the channels of x %[1,3,4,4%]")
end)

case("B111", "cross entropy refuses labels outside 1..C and float labels",
  function()
  local z = zeros({ 2, 4 })
  local function loss(labels, dt)
    return vals(cross_entropy(z, tensor(labels, dt or "i64")))
  end
  near(loss { 1, 4 }, math.log(4), 1e-6)
  near(loss({ 1, 4 }, "i32"), math.log(4), 1e-6)
  for _, l in ipairs { 0, 5, -1, -4, 1 << 33 } do
    fails(function() return loss { 1, l } end)
  end
  fails(function() return loss { 0, 1 } end, "y %+ 1")
  fails(function() return loss({ 1.0, 2.0 }, "f32") end, "integers")
  fails(function() return loss({ true, false }, "bool") end, "integers")
  fails(function() return loss { 1, 2, 3 } end, "%[2,4%].*%[3%]")
  fails(function() return cross_entropy(zeros({ 4 }), tensor({ 1 }, "i64")) end)
  near(cross_entropy(zeros({ 4 }), tensor(1, "i64")), math.log(4), 1e-6)
end)

case("B113", "uniform numbers lie in [0, 1), in every dtype", function()
  seed(1)
  local r = rand(2000000)
  local lo, hi = vals(r:min()), vals(r:max())
  check(lo >= 0 and hi < 1, "f32 range " .. lo .. " .. " .. hi)
  check(hi > 0.999 and lo < 0.001)
  local d = rand(200000, { dtype = "f64" })
  check(vals(d:min()) >= 0 and vals(d:max()) < 1)
  near(r:mean(), 0.5, 2e-3)
  near(r:var(), 1 / 12, 2e-3)
end)

case("B115", "the same seed gives the same numbers, another does not",
  function()
  seed(42)
  local a = rand(1000):table()
  seed(42)
  local b = rand(1000):table()
  seed(43)
  local c = rand(1000):table()
  eq(a, b)
  local differ = 0
  for i = 1, 1000 do if a[i] ~= c[i] then differ = differ + 1 end end
  check(differ > 990)
  seed(42)
  eq(rand(10, 100):reshape(1000):table(), a)
  seed(7)
  local n1 = randn(500):table()
  seed(7)
  eq(randn(500):table(), n1)
end)

done()
