-- Gradients at the awkward points: faults that users of other systems met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function t64(v) return tensor(v, "f64") end

case("B087", "where with an unsafe branch", function()
  local function safe(x)
    return where(x:gt(0), sqrt(where(x:gt(0), x, 1)), 0)
  end
  near(gradat(safe, { 0, 4, -1 }), { 0, 0.25, 0 }, 1e-12)
  local g = vals(gradat(function(x)
    return where(x:gt(0), sqrt(x), 0)
  end, { 0, 4, -1 }))
  near(g[2], 0.25, 1e-12)
  for _, k in ipairs { 1, 3 } do -- the trap that docs describe
    check(g[k] == 0 or g[k] ~= g[k], "the other branch gave " .. g[k])
  end
  eq(gradat(function(x) return where(x:gt(0), x, nan) end, { 2 }), { 1 })
  eq(where(t64 { 2, -1 }:gt(0), sqrt(t64 { 4, -1 }), 0), { 2, 0 })
end)

case("B089", "prod with zeros", function()
  eq(gradof(prod, { 2, 0, 3, 4 }), { 0, 24, 0, 0 })
  eq(gradof(prod, { 2, 0, 0, 4 }), { 0, 0, 0, 0 })
  eq(gradof(prod, { 0 }), { 1 })
  near(gradof(prod, { 2, -3, 4 }), { -12, 8, -6 }, 1e-12)
  eq(gradat(function(x) return x:prod { axis = 2 } end,
    { { 1, 2, 3 }, { 0, 5, 6 } }), { { 6, 3, 2 }, { 30, 0, 0 } })
  eq(gradat(function(x) return x:prod { axis = 1 } end,
    { { 1, 2 }, { 0, 5 }, { 3, 0 } }), { { 0, 0 }, { 3, 0 }, { 0, 10 } })
  eq(gradat(function(x) return x:prod { axis = { 1, 3 }, keep = true } end,
    { { { 1, 2 }, { 3, 4 } }, { { 0, 5 }, { 6, 7 } } }),
    { { { 0, 0 }, { 168, 126 } }, { { 10, 0 }, { 84, 72 } } })
end)

case("B091", "cumprod with zeros", function()
  local function f(x) return cumprod(x, { axis = 1 }) end
  eq(gradat(f, { 2, 0, 3, 4 }), { 1, 32, 0, 0 })
  eq(gradat(f, { 0, 2, 3 }), { 9, 0, 0 })
  eq(gradat(f, { 2, 3, 0 }), { 4, 2, 6 })
  eq(gradat(f, { 2, 0, 0, 3 }), { 1, 2, 0, 0 })
end)

case("B093", "derivative of a^b by b at a = 0", function()
  local a = t64 { 0, 2 }
  near(gradat(function(b) return pow(a, b) end, { 1, 1 }),
    { 0, 2 * math.log(2) }, 1e-12)
  near(gradat(function(b) return pow(a, b) end, { 2, 3 }),
    { 0, 8 * math.log(2) }, 1e-12)
  local g = vals(gradat(function(b) return pow(t64 { -2 }, b) end, { 2 }))
  check(g[1] ~= g[1] or g[1] == 0, "d/db (-2)^b is " .. tostring(g[1]))
end)

case("B095", "ties and corners", function()
  eq(gradat(relu, { 0, -1, 2 }), { 0, 0, 1 })
  local t = vals(grad(function(p) return maximum(p[1], p[2]) end)(t64 { 1, 1 }))
  eq(t, { 0.5, 0.5 })
  local m = vals(gradof(function(x) return x:max() end, { 2, 2, 1 }))
  near(m, { 0.5, 0.5, 0 }, 1e-12)
  local n = vals(gradof(function(x) return x:min() end, { 3, 3, 3 }))
  near(n, { 1 / 3, 1 / 3, 1 / 3 }, 1e-12)
  eq(gradat(function(x) return clamp(x, 0, 1) end, { 0, 1, 0.5, -1, 2 }),
    { 1, 1, 1, 0, 0 })
  eq(gradat(abs, { 0, -3, 3 }), { 0, -1, 1 })
  eq(gradat(function(x) return x:relu() end, { nan }), { 1 })
end)

case("B097", "cross entropy and softmax gradients with huge logits", function()
  local function loss(z) return cross_entropy(z, tensor({ 1 }, "i64")) end
  for _, p in ipairs { { "f64", 1e-12 }, { "f32", 1e-6 } } do
    near(grad(loss)(tensor({ { -431, 279, 427 } }, p[1])), { { -1, 0, 1 } },
      p[2])
  end
  local w = t64 { 1, 2, 3 }
  local function soft(z) return softmax(z, { axis = -1 }) end
  near(gradof(function(z) return sum(soft(z) * w) end, { -1047, -981, 1891 }),
    { 0, 0, 0 }, 1e-12)
  near(gradof(logsumexp, { 0, -inf }), { 1, 0 }, 1e-12)
  near(gradof(function(z) return log_softmax(z, { axis = -1 })[1] end,
    { 0, -inf }), { 0, 0 }, 1e-12)
  near(gradof(logsumexp, { 5000, 5000 }), { 0.5, 0.5 }, 1e-12)
end)

case("B099", "gradient through a broadcast with an empty tensor", function()
  local o = { dtype = "f64" }
  local a = zeros({ 4, 0 }, o)
  eq(sum(a + ones({ 4 }, o):unsqueeze(2)), 0)
  local g = grad(function(b) return sum(a + b:unsqueeze(2)) end)(ones({ 4 }, o))
  eq(g, { 0, 0, 0, 0 })
  local h = grad(function(x) return sum(x * 2) end)(zeros({ 0, 3 }, o))
  shape(h, { 0, 3 })
  local k = grad(function(x)
    return sum(take(x, zeros({ 0 }, { dtype = "i64" })))
  end)(ones({ 3 }, o))
  eq(k, { 0, 0, 0 })
  shape(grad(prod)(zeros({ 0, 2 }, o)), { 0, 2 })
  shape(grad(function(x) return sum(softmax(x, { axis = 2 })) end)(
    zeros({ 2, 0 }, o)), { 2, 0 })
  shape(grad(function(x) return sum(mean(x, { axis = 1 })) end)(
    zeros({ 0, 2 }, o)), { 0, 2 })
end)

case("B101", "mean and sum over some axes scale and spread the gradient",
  function()
  local w = t64 { 1, 10 }
  near(gradof(function(x) return sum(x:mean { axis = 2 } * w) end,
    { { 1, 2, 3 }, { 4, 5, 6 } }),
    { { 1 / 3, 1 / 3, 1 / 3 }, { 10 / 3, 10 / 3, 10 / 3 } }, 1e-12)
  near(gradof(function(x) return sum(x:sum { axis = 1 } * t64 { 1, 2, 3 }) end,
    { { 1, 2, 3 }, { 4, 5, 6 } }), { { 1, 2, 3 }, { 1, 2, 3 } }, 1e-12)
  near(gradof(function(b)
    return sum((ones({ 4, 3 }, { dtype = "f64" }) + b) * 2)
  end, { 1, 2, 3 }), { 8, 8, 8 }, 1e-12)
  near(gradof(function(s)
    return sum(broadcast_to(s:reshape(1, 1), { 5, 6 }))
  end, { 2 }), { 30 }, 1e-12)
  near(gradof(function(x) return sum(x:mean() * t64 { 1, 2 }) end,
    { { 1, 2 }, { 3, 4 } }), { { 0.75, 0.75 }, { 0.75, 0.75 } }, 1e-12)
end)

case("B103", "nested gradients", function()
  local f = function(x) return exp(3 * x) end
  local d1 = grad(function(x) return sum(f(x)) end)
  local d2 = grad(function(x) return sum(d1(x)) end)
  local d3 = grad(function(x) return sum(d2(x)) end)
  local x = t64 { 0.5 }
  local e = math.exp(1.5)
  rel(d1(x), { 3 * e }, 1e-12)
  rel(d2(x), { 9 * e }, 1e-12)
  rel(d3(x), { 27 * e }, 1e-12)
  rel(d1(x), { 3 * e }, 1e-12)
  local g = grad(function(z)
    return sum(grad(function(y) return sum(y ^ 3) end)(z) * z)
  end)
  rel(g(t64 { 2 }), { 36 }, 1e-12)
end)

done()
