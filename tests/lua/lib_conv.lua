-- Convolution and pooling beyond their golden files: gradients of gradients,
-- what is refused and how, dtypes, and what the planner makes of them.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local has_f64 = pcall(zeros, 1, { dtype = "f64" })

-- Values that repeat late; of both signs.
local function some(...)
  local n = 1
  for _, k in ipairs { ... } do n = n * k end
  local x = arange(n):cast("f32") * 0.754877 % 1 - 0.5
  return x:cast(has_f64 and "f64" or "f32"):reshape({ ... })
end

local function weigh(y)
  return sum(y * some(table.unpack(y.shape:table())) + square(y) * 0.1)
end

-- First and second order against differences.
local function both(title, f, x)
  if not has_f64 then return end
  case(title, "first order", function()
    gradcheck(function(p) return weigh(f(p)) end, x)
  end)
  case(title, "second order", function()
    local first = grad(function(p) return weigh(f(p)) end)
    gradcheck(function(p)
      local g, total = first(p), 0
      for _, d in ipairs(tree.leaves(g)) do total = total + weigh(d) end
      return total
    end, x, { tol = 2e-6 })
  end)
end

-- ---- gradients -------------------------------------------------------------

for _, o in ipairs {
  {}, { stride = 2, padding = 1 }, { groups = 2, stride = { 2, 3 } },
  { dilation = 2, padding = { 2, 1 }, stride = 2 }, { padding = "same" },
} do
  local groups = o.groups or 1
  local w = some(2, 4 // groups, 3, 2)
  both("conv2d", function(p) return conv2d(p[1], p[2], o) end,
    { some(1, 4, 6, 5), w })
  if o.padding ~= "same" then
    both("conv_transpose2d", function(p)
      return conv_transpose2d(p[1], p[2], o)
    end, { some(1, 2, 3, 3), w })
  end
end
both("conv1d", function(p) return conv1d(p.x, p.w, { padding = 2, stride = 2,
  bias = p.b }) end, { x = some(2, 2, 7), w = some(3, 2, 3), b = some(3) })
for _, o in ipairs { { kernel = 2 }, { kernel = 3, stride = 2, padding = 1 },
  { kernel = { 6, 5 }, stride = 1 } } do
  both("max_pool2d", function(x) return max_pool2d(x, o) end, some(1, 2, 7, 6))
  both("avg_pool2d", function(x) return avg_pool2d(x, o) end, some(1, 2, 7, 6))
end
for _, o in ipairs { { 3, 1, 1 }, { 3, 2, 1 }, { 2, 3, 1 }, { 4, 2, 1 },
  { 2, 2, 2 }, { 3, 3, 2 }, { 3, 2, 3 }, { 1, 3, 1 } } do
  both("unfold", function(x)
    return x:unfold { axis = 2, size = o[1], step = o[2], dilation = o[3] }
  end, some(2, 9, 2))
end

case("one window too few", "elements beside all windows have gradient 0",
  function()
  local x = some(1, 1, 5, 5)
  local d = grad(function(v) return sum(max_pool2d(v, 2)) end)(x)
  eq(d[{ 1, 1, 5, {} }], { 0, 0, 0, 0, 0 })
  d = grad(function(v) return sum(conv2d(v, some(1, 1, 2, 2), { stride = 3 }))
  end)(x)
  eq(d[{ 1, 1, {}, 3 }], { 0, 0, 0, 0, 0 })
end)

-- ---- values ----------------------------------------------------------------

case("large", "the kernel form and sums by hand agree", function()
  local x, w = some(3, 5, 9, 11), some(4, 5, 3, 3)
  local y = conv2d(x, w, { padding = 1 })
  local by_hand = 0
  local p = pad(x, { { 0, 0 }, { 0, 0 }, { 1, 1 }, { 1, 1 } })
  for i = 1, 3 do
    for j = 1, 3 do
      local part = p[{ {}, {}, { i, i + 8 }, { j, j + 10 } }]
      part = part:reshape(3, 1, 5, 9, 11)
        * w[{ {}, {}, i, j }]:reshape(1, 4, 5, 1, 1)
      by_hand = by_hand + part:sum { axis = 3 }
    end
  end
  near(y, by_hand, 1e-5)
end)

case("strided", "every second element of rows of any length", function()
  for _, dt in ipairs { "f32", "i32", "i64", "bool" } do
    for n = 1, 70 do
      local x = (arange(3 * (2 * n - 1)) * 7 % 11):cast(dt)
      local list, want = x:table(), {}
      for row = 0, 2 do
        want[row + 1] = {}
        for i = 0, n - 1 do
          want[row + 1][i + 1] = list[row * (2 * n - 1) + 2 * i + 1]
        end
      end
      x = x:reshape(3, 2 * n - 1)
      local y = x[{ {}, { 1, 2 * n - 1, 2 } }]
      eq(maximum(y, y), want)
      local z = zeros(3, 2 * n - 1, { dtype = dt })
        :set({ {}, { 1, 2 * n - 1, 2 } }, maximum(y, y))
      eq(z[{ {}, { 1, 2 * n - 1, 2 } }], want)
      if n > 1 then eq(z:any(), y:any():item()) end
    end
  end
end)

case("batchless", "x without its first axis gives a result without it",
  function()
  local x, w = some(2, 5, 5), some(3, 2, 3, 3)
  shape(conv2d(x, w), { 3, 3, 3 })
  eq(conv2d(x, w), conv2d(x:unsqueeze(1), w):squeeze(1):table())
  shape(max_pool2d(x, 2), { 2, 2, 2 })
  shape(avg_pool1d(some(2, 6), 3), { 2, 2 })
  shape(conv_transpose1d(some(2, 6), some(2, 1, 3)), { 1, 8 })
end)

case("empty", "no image gives no image", function()
  local x = zeros(0, 2, 5, 5)
  shape(conv2d(x, ones(3, 2, 3, 3), { padding = 1, bias = ones(3) }),
    { 0, 3, 5, 5 })
  shape(max_pool2d(x, 2), { 0, 2, 2, 2 })
  shape(avg_pool2d(x, { kernel = 2, padding = 1 }), { 0, 2, 3, 3 })
  shape(grad(function(v) return sum(max_pool2d(v, 2)) end)(x), { 0, 2, 5, 5 })
  shape(grad(function(w) return sum(conv2d(x, w)) end)(ones(3, 2, 3, 3)),
    { 3, 2, 3, 3 })
end)

case("dtypes", "integers convolve; means of integers are f32", function()
  local x = arange(16):reshape(1, 1, 4, 4)
  eq(conv2d(x, ones(1, 1, 2, 2, { dtype = "i64" }), { stride = 2 }),
    { { { { 14, 22 }, { 46, 54 } } } })
  local y = avg_pool2d(x, 2)
  check(y.dtype == "f32", y.dtype)
  eq(y, { { { { 3.5, 5.5 }, { 11.5, 13.5 } } } })
  if not pcall(zeros, 1, { dtype = "f16" }) then return end
  for _, dt in ipairs { "f16", "bf16" } do
    local h = x:cast(dt)
    for _, v in ipairs { conv2d(h, ones(1, 1, 2, 2, { dtype = dt })),
      max_pool2d(h, 2), avg_pool2d(h, 2) } do
      check(v.dtype == dt, v.dtype)
    end
    -- 2049 is no f16: the sum of 3000 ones is made in f32 and rounded once
    local sums = conv2d(ones(1, 3000, 1, 1, { dtype = dt }),
      ones(1, 3000, 1, 1, { dtype = dt }))
    near(sums:cast("f32"), { { { { 3000 } } } }, 0.01)
  end
end)

-- ---- what is refused -------------------------------------------------------

case("refused", "errors name both shapes and the rule", function()
  local x, w = ones(1, 4, 6, 6), ones(2, 4, 3, 3)
  fails(function() return conv2d(x, ones(2, 3, 3, 3)) end,
    "x %[1,4,6,6%] in 1 group needs weights with 4 channels, got %[2,3,3,3%]")
  fails(function() return conv2d(x, ones(4, 3)) end,
    "%[n,c,h,w%] or %[c,h,w%].*got %[1,4,6,6%] and %[4,3%]")
  fails(function() return conv2d(x, w, { pad = 1 }) end, "unknown option 'pad'")
  fails(function() return conv2d(x, w, { stride = 0 }) end,
    "stride must be a whole number from 1, got 0")
  fails(function() return conv2d(x, w, { padding = "full" }) end, '"full"')
  fails(function() return conv2d(x, w, { padding = "same", stride = 2 }) end,
    "stride 1, got 2")
  fails(function() return conv2d(x, w, { stride = { 1, 2, 3 } }) end,
    "a list of 2, got a list of 3")
  fails(function() return conv2d(x, w, { bias = ones(3) }) end,
    "the shape %[2%], got %[3%]")
  fails(function() return conv2d(x, w, w) end, "options are a table")
  fails(function() return conv2d(x, 3) end, "argument 2 must be a tensor")
  fails(function()
    return conv2d(x, ones(2, 4, 3, 3), { dilation = 3 })
  end, "reaches over 7 elements, x %[1,4,6,6%].*has 6 along axis 3")
  fails(function()
    return conv_transpose2d(x, ones(4, 2, 3, 3), { output_padding = 1 })
  end, "output_padding must be below stride or dilation")
  fails(function() return conv_transpose2d(x, ones(3, 2, 3, 3)) end,
    "needs weights with 4 channels, got %[3,2,3,3%]")
  fails(function() return max_pool2d(x, { kernel = 2, padding = 2 }) end,
    "at most half of the kernel, got 2 and 2")
  fails(function() return max_pool2d(x, 7) end,
    "kernel of 7 reaches over 7 elements, x %[1,4,6,6%]")
  fails(function() return max_pool2d(x) end, "size of the kernel")
  fails(function() return avg_pool2d(x, { kernel = 2, dilation = 2 }) end,
    "unknown option 'dilation'")
  fails(function() return unfold(ones(3), 1, 4) end,
    "no window of 4 elements.*axis 1 of extent 3")
  fails(function() return unfold(ones(3), 1, 2, 0) end, "step must be from 1")
  fails(function() return unfold(ones(3), 2, 2) end, "axis 2")
end)

-- ---- kernels ---------------------------------------------------------------

-- One device's kernels are as many as another's only where it has phases.
case("plan", "a network's step is few launches, found again", function()
  if tostring(zeros(1).device) ~= "cpu" then return end
  local p = { w1 = some(4, 1, 3, 3), b1 = zeros(4), w2 = some(8, 4, 3, 3),
    b2 = zeros(8), w3 = some(8 * 16, 5), b3 = zeros(5) }
  p = tree.map(function(v) return v:cast("f32") end, p)
  local x, y = some(8, 1, 16, 16):cast("f32"), arange(8) % 5 + 1
  local step = value_and_grad(function(q)
    local h = max_pool2d(relu(conv2d(x, q.w1, { padding = 1, bias = q.b1 })), 2)
    h = max_pool2d(relu(conv2d(h, q.w2, { padding = 1, bias = q.b2 })), 2)
    return cross_entropy(h:reshape(8, -1):matmul(q.w3) + q.b3, y)
  end)
  local function counters() return tsh.counters() end
  local first, last, flushes, launches, misses
  for i = 1, 12 do
    local before = counters()
    local loss, g = step(p)
    p = tree.map(function(v, d) return v - 0.2 * d end, p, g)
    last = loss:item()
    first = first or last
    local after = counters()
    flushes = after.flushes - before.flushes
    launches = after.kernels - before.kernels
    if i > 3 then
      misses = after.plan_misses - before.plan_misses
      check(misses == 0, "step " .. i)
    end
  end
  check(flushes == 1, flushes)
  check(launches <= 30, launches)
  check(last < first * 0.9, first .. " to " .. last)
end)

-- The order of a sum is that of its elements, however they lie.
case("channel sums", "have the bits of sums of rows", function()
  for _, e in ipairs { { 28, 28 }, { 16, 16 }, { 14, 14 }, { 40, 26 } } do
    local x = randn(13, 3, e[1], e[2])
    local rows = (x:permute { 2, 1, 3, 4 } + 0):reshape(3, 13 * e[1] * e[2])
    tsh.wait(x, rows)
    eq(x:sum { axis = { 1, 3, 4 } }, rows:sum { axis = 2 }:table())
  end
end)

case("conv", "elements that lie beside all windows have gradient 0", function()
  eq(grad(function(x)
    return sum(conv2d(x, ones(1, 1, 1, 1), { stride = 2, padding = 1 }))
  end)(ones(1, 1, 1, 1)), { { { { 0 } } } })
  -- The two columns of the input go to columns -1 and 2 of a result of two.
  eq(conv_transpose2d(ones(1, 1, 1, 2), ones(1, 1, 1, 1),
    { stride = 3, padding = { 0, 1 } }), { { { { 0, 0 } } } })
end)

done()
