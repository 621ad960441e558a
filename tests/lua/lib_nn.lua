-- Networks, losses, optimizers.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("nn", "spec, parameters, forward", function()
  local spec = nn.sequence { nn.linear(784, 64), nn.relu, nn.linear(64, 10) }
  local p = nn.init(spec, 1)
  eq(tree.count(p), 50890)
  shape(p[1].weight, { 784, 64 })
  shape(p[1].bias, { 64 })
  dtype(p[3].weight, "f32")
  shape(nn.forward(spec, p, zeros(5, 784)), { 5, 10 })
  shape(nn.forward(spec, p, zeros(784)), { 10 })
  shape(nn.forward(spec, p, zeros(2, 3, 784)), { 2, 3, 10 })
end)

case("nn", "each layer computes what it says", function()
  local x = tensor({ { 1, -2 }, { 0.5, 3 } }, "f32")
  local p = { weight = tensor({ { 1, 2, 3 }, { 4, 5, 6 } }, "f32"),
    bias = tensor({ 10, 20, 30 }, "f32") }
  eq(nn.forward(nn.linear(2, 3), p, x), { { 3, 12, 21 }, { 22.5, 36, 49.5 } })
  local bare = nn.linear(2, 3, { bias = false })
  eq(nn.forward(bare, p, x), { { -7, -8, -9 }, { 12.5, 16, 19.5 } })
  check(nn.init(bare, 3).bias == nil)
  eq(nn.forward(nn.relu, {}, x), { { 1, 0 }, { 0.5, 3 } })
  eq(nn.forward(nn.tanh, {}, x), tanh(x))
  eq(nn.forward(nn.sigmoid, {}, x), sigmoid(x))
end)

case("nn", "the same key gives the same numbers, within the bound", function()
  local spec = nn.sequence { nn.linear(100, 30), nn.linear(100, 30) }
  local a, b, c = nn.init(spec, 5), nn.init(spec, 5), nn.init(spec, 6)
  check(equal(a[1].weight, b[1].weight) and equal(a[2].bias, b[2].bias))
  check(not equal(a[1].weight, c[1].weight))
  check(not equal(a[1].weight, a[2].weight))
  local w = a[1].weight
  check(w:max():item() <= 0.1 and w:min():item() >= -0.1)
  check(w:max():item() > 0.099 and w:min():item() < -0.099)
  near(w:mean(), 0, 0.004)
end)

case("nn", "errors", function()
  fails(function() nn.linear(2.5, 3) end, "whole")
  fails(function() nn.linear(0, 3) end, "0")
  fails(function() nn.init(nn.linear(2, 3)) end, "key")
  fails(function() nn.init({ kind = "lienar" }, 1) end, "lienar")
  fails(function() nn.sequence { nn.relu, print } end, "layer 2")
  fails(function() nn.forward(5, {}, zeros(2)) end, "spec")
end)

case("losses", "values", function()
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
  eq(mse(tensor { 1.0, 2.0 }, tensor { 1.0, 4.0 }), 2)
  fails(function() return mse(zeros(2), zeros(3)) end, "differ")
end)

case("sgd", "with and without momentum, pure", function()
  local p = { w = tensor({ 1, 2 }, "f64"), n = tensor { 7 } }
  local g = { w = tensor({ 0.5, 1 }, "f64") }
  local plain = optim.sgd { lr = 0.1 }
  local q, s = plain.step(p, g, plain.init(p))
  near(q.w, { 0.95, 1.9 }, 1e-15)
  eq(q.n, { 7 })
  eq(p.w, { 1, 2 })
  q = plain.step(p, g, s, 1)
  near(q.w, { 0.5, 1 }, 1e-15)
  local opt = optim.sgd { lr = 0.1, momentum = 0.5 }
  local state = opt.init(p)
  eq({ #tree.leaves(state) }, { 1 })
  local w, v = { 1, 2 }, { 0, 0 }
  for _ = 1, 4 do
    p, state = opt.step(p, g, state)
    for i, gi in ipairs { 0.5, 1 } do
      v[i] = 0.5 * v[i] + gi
      w[i] = w[i] - 0.1 * v[i]
    end
  end
  near(p.w, w, 1e-14)
  near(state.velocity.w, v, 1e-14)
  fails(function() optim.sgd {} end, "lr")
  fails(function() optim.sgd { lr = 1, momentum = "x" } end, "momentum")
end)

case("training", "a line is found, and the trace does not grow", function()
  local x = linspace(-1, 1, 64):reshape(64, 1)
  local y = x * 3 - 0.5
  local spec = nn.linear(1, 1)
  local p, opt = nn.init(spec, 1), optim.sgd { lr = 0.1, momentum = 0.9 }
  local state = opt.init(p)
  local step = value_and_grad(function(q)
    return mse(nn.forward(spec, q, x), y)
  end)
  for _ = 1, 200 do
    local _, g = step(p)
    p, state = opt.step(p, g, state)
  end
  near(p.weight, { { 3 } }, 1e-4)
  near(p.bias, { -0.5 }, 1e-4)
end)

done()
