-- Reductions and accumulation: faults that users of other systems met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("B001", "mean does not overflow in the sum, nor does its count", function()
  near(full({ 70000 }, 1, { dtype = "f32" }):mean(), 1, 0)
  near(full({ 4 }, 1e308, { dtype = "f64" }):cast("f64") * 0.25,
    { 2.5e307, 2.5e307, 2.5e307, 2.5e307 }, 0)
  near(full({ 3, 400 }, 500, { dtype = "f32" }):mean { axis = 2 },
    { 500, 500, 500 }, 0)
  near(full({ 400 }, 500, { dtype = "f16" }):mean(), 500, 0)
  near(full({ 3, 400 }, 500, { dtype = "f16" }):mean { axis = 2 },
    { 500, 500, 500 }, 0)
  near(full({ 70000 }, 1, { dtype = "f16" }):mean(), 1, 0)
  near(full({ 400 }, 3, { dtype = "bf16" }):mean(), 3, 0)
  dtype(mean(tensor({ true, false })), "f32")
  eq(mean(tensor({ true, false, true, true })), 0.75)
  eq(mean(tensor({ 1, 2 }, "i32")), 1.5)
end)

case("B003", "sums of halves, bool and integers do not stall", function()
  eq(ones({ 4096 }, { dtype = "f16" }):sum(), 4096)
  eq(ones({ 4096 }, { dtype = "bf16" }):sum(), 4096)
  eq(ones({ 4096, 3 }, { dtype = "bf16" }):sum { axis = 1 },
    { 4096, 4096, 4096 })
  local h = cat({ tensor({ 2048 }, "f16"), ones({ 2048 }, { dtype = "f16" }) },
    { axis = 1 })
  eq(h:sum(), 4096)
  eq(ones({ 1, 4096 }, { dtype = "f16" }):matmul(ones({ 4096, 1 },
    { dtype = "f16" })), { { 4096 } })
  eq(full({ 4096 }, 255, { dtype = "u8" }):sum(), 4096 * 255)
  eq(full({ 4096 }, -128, { dtype = "i8" }):sum(), 4096 * -128)
  local n = 100000
  eq(full({ n }, 2147483647, { dtype = "i32" }):sum(), n * 2147483647)
  eq(ones({ 4096 }, { dtype = "bool" }):sum(), 4096)
  eq(ones({ 4096, 3 }, { dtype = "i32" }):sum { axis = 1 },
    { 4096, 4096, 4096 })
  dtype(ones({ 3 }, { dtype = "i32" }):sum(), "i64")
  dtype(ones({ 3 }, { dtype = "bool" }):prod(), "i64")
  eq(ones({ 1, 4096 }):matmul(ones({ 4096, 1 })), { { 4096 } })
end)

case("B005", "max and min keep nan at every position", function()
  for n = 1, 40 do
    for k = 1, n do
      local t = {}
      for i = 1, n do t[i] = (i * 7) % 11 - 5.0 end
      t[k] = nan
      local x = tensor(t, "f32")
      local s = stack({ x:max(), x:min() }, { axis = 1 }):table()
      check(s[1] ~= s[1] and s[2] ~= s[2], "nan lost at " .. k .. " of " .. n)
      eq(argmax(x), k)
      eq(argmin(x), k)
    end
  end
  for _, dt in ipairs { "f16", "bf16", "f32", "f64" } do
    local a, b = tensor({ 1, nan, nan }, dt), tensor({ nan, 5, nan }, dt)
    eq(maximum(a, b), { nan, nan, nan })
    eq(minimum(a, b), { nan, nan, nan })
    local x = tensor({ { 1, nan }, { 3, 4 } }, dt)
    eq(x:max { axis = 1 }, { 3, nan })
    eq(x:max { axis = 2 }, { nan, 4 })
    eq(x:min { axis = 1 }, { 1, nan })
  end
end)

case("B007", "identity of max is -inf, of min +inf, of integers the lowest",
  function()
  for _, dt in ipairs { "f32", "f64" } do
    local d = tensor({ { -inf, 1, -inf }, { -inf, -inf, -inf },
      { -inf, -2.0 ^ 127, -inf } }, dt)
    eq(d:max { axis = 2 }, { 1, -inf, -2.0 ^ 127 })
    eq((-d):min { axis = 2 }, { -1, inf, 2.0 ^ 127 })
    eq(full({ 1000 }, -inf, { dtype = dt }):max(), -inf)
  end
  eq(tensor({ -2147483648, -2147483648 }, "i32"):max(), -2147483648)
  eq(tensor({ 2147483647 }, "i32"):min(), 2147483647)
  eq(tensor({ -128 }, "i8"):max(), -128)
  eq(tensor({ 255 }, "u8"):min(), 255)
  eq(tensor({ -32768, -32768 }, "i16"):max(), -32768)
  eq(full({ 1000 }, -inf, { dtype = "f16" }):max(), -inf)
  eq(full({ 1000 }, inf, { dtype = "bf16" }):min(), inf)
  eq(tensor({ math.mininteger }, "i64"):max(), math.mininteger)
  eq(tensor({ math.maxinteger }, "i64"):min(), math.maxinteger)
  eq(tensor({ false, false }):max(), false)
end)

case("B009", "empty axis: sum 0, prod 1, max an error; others an empty result",
  function()
  eq(zeros({ 0 }):sum(), 0)
  eq(zeros({ 0 }):prod(), 1)
  eq(zeros({ 2, 0 }):sum { axis = 2 }, { 0, 0 })
  eq(zeros({ 2, 0 }, { dtype = "i64" }):prod { axis = 2 }, { 1, 1 })
  eq(any(zeros({ 0 }, { dtype = "bool" })), false)
  eq(all(zeros({ 0 }, { dtype = "bool" })), true)
  shape(zeros({ 0, 3 }):sum { axis = 2 }, { 0 })
  shape(zeros({ 0, 3 }):max { axis = 2 }, { 0 })
  shape(zeros({ 3, 0, 2 }):max { axis = 3 }, { 3, 0 })
  shape(argmax(zeros({ 0, 1 }), { axis = 2 }), { 0 })
  fails(function() return vals(zeros({ 0 }):max()) end)
  fails(function() return vals(zeros({ 2, 0 }):max { axis = 2 }) end)
  fails(function() return vals(zeros({ 2, 0 }):min { axis = 2 }) end)
  fails(function() return vals(argmax(zeros({ 0 }))) end)
  eq(logsumexp(zeros({ 0 })), -inf)
  eq(norm(zeros({ 0 })), 0)
  eq(mean(zeros({ 0 })), nan)
end)

case("B011", "variance and layer norm with a mean far above the spread",
  function()
  local x = tensor({ 40000, 40001, 40002, 40003 }, "f32")
  near(var(x, { correction = 0 }), 1.25, 1e-4)
  near(layer_norm(x:reshape(1, 4)),
    { { -1.341635, -0.447212, 0.447212, 1.341635 } }, 1e-3)
  local t = {}
  for i = 1, 16 do t[i] = 100 + (i - 1) * 0.125 end -- exact in f32
  near(var(tensor(t, "f32"), { correction = 0 }), 0.33203125, 1e-5)
  near(layer_norm(tensor({ t }, "f32"))[{ 1, 1 }],
    -7.5 / math.sqrt(21.25 + 1e-5 / 0.015625), 1e-4)
  eq(std(full({ 5 }, 1e8, { dtype = "f32" })), 0)
end)

case("B013", "logsumexp and softmax of infinities and of large numbers",
  function()
  eq(logsumexp(tensor({ -inf, -inf }, "f32")), -inf)
  eq(logsumexp(tensor({ inf, 1 }, "f32")), inf)
  near(logsumexp(tensor({ 1000, 1000 }, "f32")), 1000.6931471805599, 1e-6)
  near(logsumexp(tensor({ -1000, -1000 }, "f32")), -999.3068528194401, 1e-6)
  eq(logsumexp(tensor({ { -inf, -inf }, { -inf, 0 } }, "f32"), { axis = 2 }),
    { -inf, 0 })
  eq(logsumexp(tensor({ nan, 1 }, "f32")), nan)
  eq(softmax(tensor({ -inf, 0, -inf }, "f32"), { axis = 1 }), { 0, 1, 0 })
  near(softmax(tensor({ 1e30, 1e30 }, "f32"), { axis = 1 }), { 0.5, 0.5 }, 0)
  eq(logaddexp(tensor({ -inf, 3, inf }, "f64"), tensor({ -inf, -inf, 1 },
    "f64")), { -inf, 3, inf })
end)

case("B015", "a long f32 sum does not stall at 2^24", function()
  near(ones({ 20000000 }):sum(), 20000000, 1e-6)
  near(ones({ 20000000 }):mean(), 1, 1e-6)
  near(full({ 10000000 }, 0.1, { dtype = "f32" }):sum(), 1000000.0149, 1e-5)
end)

case("B017", "reductions of expanded inputs: shape and value", function()
  local e = broadcast_to(tensor({ { 1 }, { 2 } }, "f32"), { 2, 3 })
  eq(e:sum { axis = 1 }, { 3, 3, 3 })
  eq(e:sum { axis = 2 }, { 3, 6 })
  eq(e:sum(), 9)
  local s = broadcast_to(tensor(2.0, "f32"):reshape(1, 1), { 4, 5 })
  eq(s:sum { axis = 1 }, { 8, 8, 8, 8, 8 })
  eq(s:prod { axis = 2 }, { 32, 32, 32, 32 })
  eq(s:mean(), 2)
  eq(s:var(), 0)
  eq(argmax(e, { axis = 1 }), { 2, 2, 2 })
  eq(argmax(s, { axis = 1 }), { 1, 1, 1, 1, 1 })
end)

case("B019", "reductions of offset views read the right elements", function()
  local a = tensor({ -1, -2, -3, -4 }, "i32")
  eq(a[{ { 3, 3 } }]:sum(), -3)
  eq(a[{ { 2, 3 } }]:sum(), -5)
  eq(a[3]:sum(), -3)
  eq(a[-1], -4)
  local b = arange(1, 24):reshape(4, 6)
  eq(b[{ { 2, 3 }, { 5, 6 } }]:sum(), 11 + 12 + 17 + 18)
  eq(b[{ { 2, 4, 2 }, { 1, 6, 5 } }]:sum { axis = 2 }, { 7 + 12, 19 + 24 })
  eq(b[{ { -1, 1, -2 }, 2 }]:max(), 20)
  eq(argmin(b[{ 3, { -1, 1, -1 } }]), 6)
end)

done()
