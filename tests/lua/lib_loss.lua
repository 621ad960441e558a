-- Losses: edges and errors. Values and gradients are compared with PyTorch's by
-- golden.lua (nn.txt).
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("cross_entropy", "values", function()
  near(cross_entropy(zeros(3, 4), tensor { 1, 2, 4 }), math.log(4), 1e-6)
  local z = tensor({ { 2, 1, 0 }, { 0, 5, 1 } }, "f64")
  local function lse(a, b, c)
    return math.log(math.exp(a) + math.exp(b) + math.exp(c))
  end
  near(cross_entropy(z, tensor { 1, 3 }),
    (lse(2, 1, 0) - 2 + lse(0, 5, 1) - 1) / 2, 1e-12)
  near(nn.cross_entropy(z[1], tensor(2)), lse(2, 1, 0) - 1, 1e-12)
  near(cross_entropy(tensor({ { 1e4, -1e4 } }, "f32"), tensor { 1 }), 0, 0)
  near(cross_entropy(tensor({ { 1e4, -1e4 } }, "f32"), tensor { 2 }), 2e4, 0)
  eq(cross_entropy(tensor({ { 0, -inf } }, "f32"), tensor { 1 }), 0)
  -- any axes in front
  near(cross_entropy(z:reshape(1, 2, 3), tensor { { 1, 3 } }),
    cross_entropy(z, tensor { 1, 3 }), 1e-15)
end)

case("cross_entropy", "whole numbers, soft labels, labels that do not count",
  function()
    local z = tensor { { 2, 1, 0 }, { 0, 5, 1 } }
    local y = tensor { 1, 3 }
    local want = cross_entropy(z:cast("f32"), y)
    dtype(cross_entropy(z, y), "f32")
    near(cross_entropy(z, y), want, 1e-6)
    near(cross_entropy(z, one_hot(y, 3):cast("f32")), want, 1e-6)
    near(cross_entropy(z, tensor { 1, 9 }, { ignore = 9 }),
      cross_entropy(z[{ { 1, 1 } }], tensor { 1 }), 1e-6)
    near(cross_entropy(z, tensor { -1, 3 }, { ignore = -1, reduction = "none" })
      [1], 0, 0)
    check(vals(cross_entropy(z, tensor { 9, 9 }, { ignore = 9 })) ~= 0, "0 / 0")
    -- a class that cannot be, and is not wanted, costs nothing
    eq(cross_entropy(tensor { { 0.0, -inf } }, tensor { { 1.0, 0.0 } }), 0)
    -- no gradient reaches what does not count
    local g = grad(function(t)
      return cross_entropy(t, tensor { 9, 3 }, { ignore = 9 })
    end)(z:cast("f32"))
    eq(g[1], { 0, 0, 0 })
  end)

case("cross_entropy", "errors", function()
  local z = zeros(2, 3)
  local function loss(y, o) return vals(cross_entropy(z, y, o)) end
  fails(function() loss(tensor { 0, 1 }) end, "0 is outside 1..3.*y %+ 1")
  fails(function() loss(tensor { 4, 1 }) end, "4 is outside 1..3")
  fails(function() loss(tensor { -1, 1 }) end, "outside 1..3")
  fails(function() loss(tensor { 0, 1 }, { ignore = 9 }) end, "outside 1..3")
  fails(function() loss(tensor { 1.0, 2.0 }) end, "integers.*cast")
  fails(function() loss(tensor { 1, 2, 3 }) end, "%[2,3%].*%[3%]")
  fails(function() loss(3) end, "two tensors")
  fails(function() loss(tensor { 1, 2 }, { reduction = "max" }) end, "max")
  fails(function() loss(tensor { 1, 2 }, { weights = ones(3) }) end, "weights")
  fails(function() loss(tensor { 1, 2 }, { weight = ones(2) }) end,
    "%[3%], got %[2%]")
  fails(function() loss(tensor { 1, 2 }, { smoothing = 2 }) end, "from 0 to 1")
  fails(function() loss(z, { ignore = 1 }) end, "probabilities")
  fails(function() vals(nll(z, tensor { 0, 1 })) end, "outside 1..3")
end)

case("cross_entropy", "one-hot rows take no memory", function()
  local z, y = randn(64, 500), arange(64)
  tsh.wait(z, y)
  local before = tsh.counters()
  cross_entropy(z, y):item()
  local after = tsh.counters()
  check(after.bytes_allocated - before.bytes_allocated < 64 * 500)
end)

case("bce", "far from 0, and at probabilities 0 and 1", function()
  local x = tensor({ 1000, -1000, 0, 1000, -1000 }, "f64")
  local y = tensor({ 1, 0, 1, 0, 1 }, "f64")
  eq(bce_with_logits(x, y, { reduction = "none" }),
    { 0, 0, math.log(2), 1000, 1000 })
  local function slope(t)
    return bce_with_logits(t, y, { reduction = "sum" })
  end
  eq(grad(slope)(x), { 0, 0, -0.5, 1, -1 })
  eq(bce(tensor { 0.0, 1.0, 0.0 }, tensor { 0.0, 1.0, 1.0 },
    { reduction = "none" }), { 0, 0, 100 })
  near(bce_with_logits(x, y, { weight = 2, reduction = "sum" }),
    2 * (math.log(2) + 2000), 1e-12)
  fails(function() bce_with_logits(x, y, { pos_weight = "2" }) end, "number")
end)

case("pairs", "shapes must be equal, integers become floats", function()
  for _, f in ipairs { mse, l1, huber, smooth_l1, bce, bce_with_logits, kl_div,
    cosine_similarity } do
    fails(function() return f(zeros(2), zeros(3)) end, "differ: %[2%] and %[3%]")
    fails(function() return f(zeros(2), 3) end, "two tensors")
    fails(function() return f(zeros(2), zeros(2), { reductoin = 1 }) end,
      "reductoin.*it has")
  end
  eq(mse(tensor { 1.0, 2.0 }, tensor { 1.0, 4.0 }), 2)
  eq(mse(tensor { 1, 2 }, tensor { 1, 4 }), 2)
  eq(l1(tensor { 1, 2 }, tensor { 1.0, 4.0 }, { reduction = "sum" }), 2)
  near(smooth_l1(tensor { 1.0 }, tensor { 3.0 }, { beta = 0 }), 2, 0)
  eq(cosine_similarity(zeros(3), ones(3)), 0)
  eq(grad(function(x) return cosine_similarity(x, ones(2)) end)(zeros(2)):lt(inf),
    { true, true })
  eq(kl_div(log(tensor { 0.5, 0.5 }), tensor { 1.0, 0.0 },
    { reduction = "none" })[2], 0)
end)

case("halves", "are computed in f32 and rounded once", function()
  for _, dt in ipairs { "f16", "bf16" } do
    local x = randn(64, 10) * 3
    local ok, z = pcall(function() return x:cast(dt) end)
    if ok then
      local y = arange(64) % 10 + 1
      local wide = z:cast("f32")
      dtype(cross_entropy(z, y), dt)
      eq(cross_entropy(z, y), cross_entropy(wide, y):cast(dt))
      eq(mse(z, z * 0.5), mse(wide, (z * 0.5):cast("f32")):cast(dt))
      local norm_spec = nn.batch_norm(10, { affine = false })
      local state = select(2, nn.init(norm_spec, 1))
      local h, new = nn.forward(norm_spec, {}, z, { train = true,
        state = state })
      dtype(h, dt)
      dtype(new.mean, "f32")
      local layer = nn.layer_norm(10)
      dtype(nn.forward(layer, nn.init(layer, 1, { dtype = dt }), z), dt)
      dtype(nn.forward(layer, nn.init(layer, 1), z), "f32") -- the widest
      dtype(grad(function(t) return cross_entropy(t, y) end)(z), dt)
    end
  end
end)

case("gradcheck", "every loss", function()
  local x = tensor({ { 0.5, -1, 2 }, { 0.1, 0.7, -0.3 } }, "f64")
  local p = sigmoid(x)
  local y = tensor({ { 0.2, 0.3, 0.5 }, { 0.9, 0.05, 0.05 } }, "f64")
  for _, f in ipairs { mse, huber, smooth_l1, bce_with_logits,
    cosine_similarity } do
    gradcheck(function(t) return f(t, y):sum() end, x)
  end
  gradcheck(function(t) return bce(t, y) end, p)
  gradcheck(function(t) return kl_div(log(t), y) end, p)
  gradcheck(function(t) return kl_div(x, t) end, y)
  gradcheck(function(t) return cross_entropy(t, y, { smoothing = 0.1 }) end, x)
  gradcheck(function(t) return cross_entropy(x, t) end, y)
  gradcheck(function(t)
    return cross_entropy(t, tensor { 3, 1 }, { smoothing = 0.1 })
  end, x)
end)

done()
