-- Networks: layers, parameters, state. What layers compute is compared with
-- PyTorch's numbers by golden.lua (nn.txt).
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
  fails(function() nn.linear(2, 3, { bais = true }) end, "bais.*it has")
  fails(function() nn.linear(2, 3, { bias = 1 }) end, "bias must be true")
  fails(function() nn.init(nn.linear(2, 3)) end, "key")
  fails(function() nn.init({ kind = "lienar" }, 1) end, "lienar")
  fails(function() nn.sequence { nn.relu, 7 } end, "layer 2")
  fails(function() nn.sequence { nn.relu, { kind = "lienar" } } end,
    "layer 2.*lienar")
  fails(function() nn.sequence(nn.relu) end, "list")
  fails(function() nn.forward(5, {}, zeros(2)) end, "spec")
  fails(function() nn.forward(nn.linear(2, 3), {}, 5) end, "tensor")
  fails(function() nn.forward(nn.sequence { nn.linear(2, 3) }, {}, zeros(2)) end,
    "linear%(2, 3%): the parameters lack the weight")
  fails(function() nn.forward(nn.linear(2, 3), { weight = ones(2, 3) }, zeros(2))
  end, "lack the bias")
  fails(function() nn.forward(nn.linear(2, 3), 4, zeros(2)) end, "table of")
  local spec = nn.linear(4, 3)
  local p = nn.init(spec, 1)
  fails(function() nn.forward(spec, p, zeros(5, 2, 2)) end,
    "linear%(4, 3%).*%[5,2,2%].*flatten")
  fails(function() nn.forward(spec, p, zeros(4), { tain = true }) end, "tain")
  fails(function() nn.forward(nn.fn(function() return 3 end), {}, zeros(2)) end,
    "must return a tensor")
  fails(function() nn.forward(nn.residual { nn.flatten }, { {} },
    zeros(2, 2, 2)) end, "residual.*%[2,2,2%].*%[2,4%]")
  fails(function() nn.forward(nn.embedding(4, 2), {}, zeros(3)) end, "integers")
  fails(function()
    vals(nn.forward(nn.embedding(4, 2), { weight = zeros(4, 2) }, tensor { 5 }))
  end, "outside 1..4")
  fails(function() nn.gelu { approximate = "fast" } end, "fast")
  fails(function() nn.dropout(1.5) end, "from 0 to 1")
  fails(function() nn.conv2d(3, 4, 3, { groups = 2 }) end, "3 inputs.*2 groups")
  fails(function() nn.conv2d(3, 4, { 3, 3, 3 }) end, "one number or two")
end)

case("specs", "are plain tables, and say what they were made of", function()
  eq(nn.linear(2, 3).inputs, 2)
  eq(nn.conv2d(1, 4, 3, { padding = { 1, 2 } }).padding, { 1, 2 })
  eq(nn.max_pool2d({ 2, 3 }).stride, { 2, 3 })
  eq(nn.leaky_relu(0.2).slope, 0.2)
  eq(nn.leaky_relu.slope, 0.01)
  check(nn.relu().kind == "relu" and nn.gelu.approximate == "none")
  check(nn.view == nn.reshape)
end)

case("sequence", "functions are layers; layers nest", function()
  local spec = nn.sequence {
    function(x) return x / 2 end,
    nn.sequence { nn.linear(3, 3), nn.relu },
    nn.residual { nn.linear(3, 3), nn.fn(tanh) },
  }
  local p = nn.init(spec, 1)
  eq(#tree.leaves(p), 4)
  local x = randn(4, 3)
  local h = relu((x / 2):matmul(p[2][1].weight) + p[2][1].bias)
  near(nn.forward(spec, p, x),
    h + tanh(h:matmul(p[3][1].weight) + p[3][1].bias), 1e-6)
  eq(nn.forward(function(t) return t + 1 end, {}, ones(2)), { 2, 2 })
end)

case("dtype", "init gives the dtype that was asked for", function()
  local spec = nn.sequence { nn.linear(3, 2), nn.batch_norm(2) }
  local p, state = nn.init(spec, 1, { dtype = "f64", device = "cpu" })
  for _, t in ipairs(tree.leaves(p)) do dtype(t, "f64") end
  for _, t in ipairs(tree.leaves(state)) do dtype(t, "f64") end
  dtype(nn.forward(spec, p, zeros({ 5, 3 }, { dtype = "f64" }),
    { state = state }), "f64")
  fails(function() nn.init(spec, 1, { dtpye = "f64" }) end, "dtpye")
end)

-- ---- training and use ------------------------------------------------------

case("dropout", "keeps the mean, follows its key, rests in use", function()
  local spec, x = nn.dropout(0.25), ones(100, 100)
  local function drawn(key)
    return nn.forward(spec, {}, x, { train = true, key = key })
  end
  local y = drawn(1)
  near(y:mean(), 1, 0.02)
  near(y:eq(0):mean(), 0.25, 0.02)
  near(y:max(), 4 / 3, 1e-6)
  check(equal(y, drawn(1)) and not equal(y, drawn(2)))
  check(equal(nn.forward(spec, {}, x), x))
  eq(nn.forward(nn.dropout(1), {}, ones(3), { train = true, key = 1 }),
    { 0, 0, 0 })
  -- two layers draw apart
  local both = nn.sequence { nn.dropout(0.5), nn.dropout(0.5) }
  near(nn.forward(both, { {}, {} }, x, { train = true, key = 3 }):eq(0):mean(),
    0.75, 0.02)
  fails(function() nn.forward(spec, {}, x, { train = true }) end, "key")
  -- the gradient has the mask of the value
  local g = grad(function(t)
    return sum(nn.forward(spec, {}, t, { train = true, key = 1 }))
  end)(x)
  check(equal(g, y))
end)

case("batch_norm", "the state goes in and comes out, nothing changes", function()
  local spec = nn.sequence { nn.linear(2, 3), nn.batch_norm(3), nn.relu,
    nn.sequence { nn.batch_norm(3) } }
  local p, state = nn.init(spec, 1)
  eq(#tree.leaves(state), 4)
  eq(state[2].mean, { 0, 0, 0 })
  eq(state[4][1].var, { 1, 1, 1 })
  local x = randn(16, 2) * 3 + 1
  local y, new = nn.forward(spec, p, x, { train = true, state = state })
  near(y:mean(1), { 0, 0, 0 }, 1e-5)
  eq(state[2].mean, { 0, 0, 0 })
  local h = x:matmul(p[1].weight) + p[1].bias
  near(new[2].mean, h:mean(1) * 0.1, 1e-6)
  near(new[2].var, h:var(1) * 0.1 + 0.9, 1e-5)
  check(not equal(nn.forward(spec, p, x, { state = new }), y))
  eq(select("#", nn.forward(spec, p, x, { state = new })), 1)
  fails(function() nn.forward(spec, p, x) end, "state is missing.*nn.init")
  fails(function()
    nn.forward(spec, p, x[{ { 1, 1 } }], { train = true, state = state })
  end, "more than one")
  fails(function() nn.forward(nn.batch_norm(4), {}, x, { state = state[2] }) end,
    "%[n, 4%]")
end)

case("batch_norm", "trains under value_and_grad, and the state settles",
  function()
    local spec = nn.sequence { nn.linear(2, 4), nn.batch_norm(4), nn.tanh,
      nn.linear(4, 1) }
    local p, state = nn.init(spec, 1)
    local opt = optim.adam { lr = 0.02 }
    local opt_state = opt.init(p)
    local x = randn(64, 2)
    local y = x:sum({ axis = 2, keep = true }) * 0.5
    local step = value_and_grad(function(q, s)
      local out, new = nn.forward(spec, q, x, { train = true, state = s })
      return mse(out, y), new
    end)
    local loss, grads, misses
    for i = 1, 200 do
      if i == 4 then misses = tsh.counters().plan_misses end
      loss, grads, state = step(p, state)
      p, opt_state = opt.step(p, grads, opt_state)
      loss:item()
    end
    eq(tsh.counters().plan_misses, misses)
    check(loss:item() < 0.02, loss:item())
    local used = mse(nn.forward(spec, p, x, { state = state }), y):item()
    check(used < 0.05, used)
  end)

-- ---- kinds of the user's ---------------------------------------------------

case("layer", "a kind of one's own, with parameters and a state", function()
  local counted = nn.layer("counted", {
    init = function(spec, draw)
      return { factor = draw("ones", { spec.size }) },
        { calls = draw("zeros", {}) }
    end,
    forward = function(_, p, x, state, run)
      return x * p.factor, run.train and { calls = state.calls + 1 } or nil
    end,
    shows = { "size" },
  })
  local spec = nn.sequence { counted { size = 3 }, nn.relu }
  local p, state = nn.init(spec, 1)
  local y
  for _ = 1, 3 do
    y, state = nn.forward(spec, p, ones(2, 3), { train = true, state = state })
  end
  eq(y, { { 1, 1, 1 }, { 1, 1, 1 } })
  eq(state[1].calls, 3)
  eq(grad(function(q) return sum(nn.forward(spec, q, ones(2, 3),
    { state = state })) end)(p)[1].factor, { 2, 2, 2 })
  fails(function() nn.layer("linear", { forward = print }) end, "nn's own")
  fails(function() nn.layer("of", { forward = print }) end, "nn's own")
  fails(function() nn.layer("mine", {}) end, "forward")
end)

case("layer", "a layer of layers", function()
  local twice = nn.layer("twice", {
    init = function(spec, draw) return draw.init(spec.inner) end,
    forward = function(spec, p, x, state, run)
      x = run.apply(spec.inner, p, x, state)
      return run.apply(spec.inner, p, x, state)
    end,
  })
  local inner = nn.linear(2, 2)
  local spec = twice { inner = inner }
  local p = nn.init(spec, 5)
  local x = randn(3, 2)
  near(nn.forward(spec, p, x),
    nn.forward(inner, p, nn.forward(inner, p, x)), 1e-6)
end)

-- ---- every device ----------------------------------------------------------

case("devices", "the opaque device gives the same bits", function()
  if not pcall(tsh.device, "opaque") then
    print("note: no opaque device here")
    return
  end
  tsh.device("cpu")
  local spec = nn.sequence { nn.linear(4, 6), nn.batch_norm(6), nn.gelu,
    nn.residual { nn.layer_norm(6), nn.linear(6, 6), nn.elu, nn.dropout(0.5) },
    nn.reshape(2, 3), nn.flatten, nn.linear(6, 3), nn.silu, nn.leaky_relu }
  local p, state = nn.init(spec, 1)
  local x, y = randn(5, 4), tensor { 1, 2, 3, 1, 2 }
  local opt = optim.adam { lr = 0.1, weight_decay = 0.1 }
  local function trained(device)
    local function there(t) return t:to(device) end
    local q, s = tree.map(there, p), tree.map(there, state)
    local o = opt.init(q)
    local loss
    local step = value_and_grad(function(w)
      local out, new = nn.forward(spec, w, there(x),
        { train = true, key = 7, state = s })
      return cross_entropy(out, there(y), { smoothing = 0.1 }), new
    end)
    for _ = 1, 2 do
      local grads
      loss, grads, s = step(q)
      q, o = opt.step(q, grads, o)
    end
    return tree.leaves { loss, q, s, o }
  end
  local a, b = trained("cpu"), trained("opaque")
  eq(#a, #b)
  for i = 1, #a do
    check(b[i].device ~= "cpu", "moved")
    check(equal(a[i], b[i]:to("cpu")), "tensor " .. i)
  end
end)

case("steps", "one flush, no plan from the third step on, in place", function()
  for _, make in ipairs { optim.sgd, optim.adam } do
    local spec = nn.sequence { nn.linear(784, 128), nn.relu, nn.linear(128, 10) }
    local p = nn.init(spec, 1)
    local opt = make { lr = 0.01, momentum = make == optim.sgd and 0.9 or nil }
    local state = opt.init(p)
    local x, y = rand(300, 784), arange(300) % 10 + 1
    local step = value_and_grad(function(q, xb, yb)
      return cross_entropy(nn.forward(spec, q, xb), yb)
    end)
    -- What has a name when a value is read is kept: so grads have none then.
    local function train(i)
      local rows = { { i % 3 * 100 + 1, i % 3 * 100 + 100 } }
      local loss, grads = step(p, x[rows], y[rows])
      p, state = opt.step(p, grads, state, 0.01 / i)
      return loss
    end
    local before
    for i = 1, 9 do
      if i == 4 then before = tsh.counters() end
      train(i):item()
    end
    local after = tsh.counters()
    eq(after.flushes - before.flushes, 6)
    eq(after.plan_misses - before.plan_misses, 0)
    -- the loss, and the count of steps
    check(after.bytes_allocated - before.bytes_allocated <= 6 * 8)
    check(after.kernels - before.kernels <= 6 * (make == optim.sgd and 9 or 10))
  end
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

case("errors", "parameters of another network are refused", function()
  local function refuses(spec, other, x, text)
    local ok, e = pcall(nn.forward, spec, nn.init(other, 1), x)
    check(not ok and e:find(text, 1, true), tostring(e))
  end
  refuses(nn.linear(3, 9), nn.linear(3, 10), ones(1, 3), "must be [3,9]")
  refuses(nn.conv2d(1, 2, 3), nn.conv2d(1, 2, 2), ones(1, 1, 4, 4),
    "must be [2,1,3,3]")
  refuses(nn.embedding(4, 2), nn.embedding(5, 2), tensor { 1 }, "must be [4,2]")
  refuses(nn.layer_norm(3), nn.layer_norm(1), ones(2, 3), "must be [3]")
end)

done()
