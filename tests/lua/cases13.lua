-- Losses and random numbers: faults that users of other systems met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

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
  -- A draw of f32 that is rounded to f16 or bf16 reaches 1.
  for dt, last in pairs { f16 = 2047 / 2048, bf16 = 255 / 256, f64 = 1 } do
    local d = rand(200000, { dtype = dt })
    check(vals(d:min()) >= 0 and vals(d:max()) < 1, dt)
    check(dt == "f64" or vals(d:max()) == last, dt)
    near(d:cast("f64"):mean(), 0.5, 5e-3)
    near(randn(200000, { dtype = dt }):cast("f64"):std(), 1, 1e-2)
  end
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
