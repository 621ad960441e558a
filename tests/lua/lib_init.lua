-- Initialisers: their distributions, their bounds, their keys.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function spread(t, mean, std, tol)
  near(t:mean(), mean, tol or 0.02 * std)
  near(t:std() / std, 1, 0.02)
end

case("fixed", "zeros, ones, constant", function()
  eq(nn.init.zeros({ 2, 2 }), { { 0, 0 }, { 0, 0 } })
  eq(nn.init.ones({ 2 }), { 1, 1 })
  eq(nn.init.constant({ 2 }, 1, { value = 2.5 }), { 2.5, 2.5 })
  dtype(nn.init.zeros({ 1 }, 1, { dtype = "f64" }), "f64")
end)

case("draws", "mean and spread are those of the formula", function()
  local s = { 300, 200 }
  spread(nn.init.normal(s, 1, { mean = 3, std = 0.5 }), 3, 0.5)
  local u = nn.init.uniform(s, 1, { low = -1, high = 3 })
  spread(u, 1, 4 / math.sqrt(12))
  check(u:min():item() >= -1 and u:max():item() < 3)
  spread(nn.init.xavier_uniform(s, 1), 0, math.sqrt(2 / 500))
  spread(nn.init.xavier_normal(s, 1, { gain = 2 }), 0, 2 * math.sqrt(2 / 500))
  spread(nn.init.he_uniform(s, 1), 0, math.sqrt(2 / 300))
  spread(nn.init.he_normal(s, 1), 0, math.sqrt(2 / 300))
  local bound = math.sqrt(6 / 300)
  near(nn.init.he_uniform(s, 1):max() / bound, 1, 1e-3)
  check(nn.init.he_uniform(s, 1):max():item() <= bound)
  -- kernels [outputs, inputs, height, width]
  spread(nn.init.he_normal({ 40, 50, 5, 6 }, 1), 0, math.sqrt(2 / 1500))
  spread(nn.init.xavier_normal({ 40, 50, 5, 6 }, 1), 0,
    math.sqrt(2 / (1500 + 1200)))
end)

-- The variance of a normal distribution cut at +-2, and at 0.5 and 1, by
-- numerical integration of its density.
local function cut_moments(a, b)
  local n, w, m, v = 20000, 0, 0, 0
  for i = 1, n do
    local x = a + (b - a) * (i - 0.5) / n
    local d = math.exp(-x * x / 2)
    w, m, v = w + d, m + d * x, v + d * x * x
  end
  return m / w, math.sqrt(v / w - (m / w) ^ 2)
end

case("trunc_normal", "is cut, and has the spread of what is left", function()
  local s = { 300, 200 }
  local mean, std = cut_moments(-2, 2)
  local t = nn.init.trunc_normal(s, 1)
  spread(t, mean, std)
  check(t:max():item() <= 2 and t:min():item() >= -2)
  check(t:max():item() > 1.99 and t:min():item() < -1.99)
  mean, std = cut_moments(0.5, 1)
  t = nn.init.trunc_normal(s, 1, { mean = 10, std = 3, low = 11.5, high = 13 })
  spread(t, 10 + 3 * mean, 3 * std)
  check(t:max():item() <= 13 and t:min():item() >= 11.5)
  -- far in the tail
  t = nn.init.trunc_normal(s, 1, { std = 0.02, low = -0.04, high = 0.04 })
  mean, std = cut_moments(-2, 2)
  spread(t, 0, 0.02 * std)
  -- the share below 1 is that of the distribution
  t = nn.init.trunc_normal(s, 2)
  local function phi(x) return (1 + erf(x / math.sqrt(2))) / 2 end
  near(t:lt(1):mean(), (phi(1) - phi(-2)) / (phi(2) - phi(-2)), 0.01)
end)

case("orthogonal", "rows or columns are orthonormal", function()
  local function near_unit(q, n)
    near(q, eye and eye(n) or one_hot(arange(n), n):cast("f32"), 2e-6)
  end
  local q = nn.init.orthogonal({ 20, 20 }, 1)
  near_unit(q:matmul(q.T), 20)
  near_unit(q.T:matmul(q), 20)
  local wide, tall = nn.init.orthogonal({ 5, 9 }, 2),
    nn.init.orthogonal({ 9, 5 }, 2, { gain = 3 })
  near_unit(wide:matmul(wide.T), 5)
  near_unit(tall.T:matmul(tall) / 9, 5)
  local k = nn.init.orthogonal({ 4, 2, 3, 3 }, 1):reshape(4, 18)
  near_unit(k:matmul(k.T), 4)
  check(not equal(nn.init.orthogonal({ 3, 3 }, 1),
    nn.init.orthogonal({ 3, 3 }, 2)))
end)

case("keys", "decide the draw", function()
  local a = nn.init.normal({ 10 }, 1)
  check(equal(a, nn.init.normal({ 10 }, 1)))
  check(not equal(a, nn.init.normal({ 10 }, 2)))
  fails(function() nn.init.normal({ 10 }) end, "key")
end)

case("layers", "init= is a name, a name with options, or a function", function()
  local spec = nn.sequence {
    nn.linear(50, 40, { init = "xavier_normal", bias_init = "zeros" }),
    nn.linear(40, 30, { init = { "constant", value = 0.5 } }),
    nn.linear(30, 2, { init = function(shape, key)
      return nn.init.normal(shape, key, { std = 3 })
    end }),
    nn.linear(2, 2), nn.embedding(100, 60),
    nn.embedding(3, 2, { init = "ones" }),
  }
  local p = nn.init(spec, 1)
  near(p[1].weight:std() / math.sqrt(2 / 90), 1, 0.05)
  check(all(p[1].bias:eq(0)):item())
  check(all(p[2].weight:eq(0.5)):item())
  near(p[3].weight:std() / 3, 1, 0.3)
  near(p[5].weight:std(), 1, 0.05)
  eq(p[6].weight, { { 1, 1 }, { 1, 1 }, { 1, 1 } })
  local again, other = nn.init(spec, 1), nn.init(spec, 2)
  check(equal(p[3].weight, again[3].weight))
  check(not equal(p[3].weight, other[3].weight))
end)

case("errors", "names, shapes, options", function()
  fails(function() nn.linear(2, 3, { init = "he_norml" }) end,
    "he_norml.*he_normal")
  fails(function() nn.linear(2, 3, { init = { "normal", sd = 1 } }) end, "sd")
  fails(function() nn.linear(2, 3, { init = 3 }) end, "init is a number")
  fails(function() nn.init(nn.linear(2, 3, { bias_init = "he_normal" }), 1) end,
    "two axes")
  fails(function()
    nn.init(nn.linear(2, 3, { init = function() return zeros(3) end }), 1)
  end, "%[2,3%].*%[3%]")
  fails(function() nn.init.constant({ 2 }, 1) end, "value")
  fails(function() nn.init.normal({ 2 }, 1, { std = -1 }) end, "std")
  fails(function() nn.init.trunc_normal({ 2 }, 1, { low = 3 }) end, "low")
end)

done()
