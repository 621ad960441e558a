-- What the planner makes of scripts, by its counters: a training loop makes
-- its plans once, runs one trace a step and allocates nothing that it had.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

-- What f adds to the counter of that name.
local function cost(name, f)
  local before = tsh.counters()[name]
  f()
  return tsh.counters()[name] - before
end

-- ---- a network of two layers -----------------------------------------------
local ROWS, BATCH = 3 * 64 + 40, 64

local function network()
  local spec = nn.sequence { nn.linear(64, 128), nn.relu, nn.linear(128, 10) }
  local opt = optim.sgd { lr = 0.1, momentum = 0.9 }
  local step = value_and_grad(function(p, xb, yb)
    return cross_entropy(nn.forward(spec, p, xb), yb)
  end)
  local self = { params = nn.init(spec, 1), rate = 0.1 }
  self.state = opt.init(self.params)
  local x = rand({ ROWS, 64 })
  local y = arange(ROWS) % 10 + 1

  -- Step number i of an epoch, which leaves nothing but parameters and state;
  -- gives the loss.
  function self.step(i)
    local first = (i - 1) * BATCH + 1
    local last = math.min(first + BATCH - 1, ROWS)
    local loss, grads = step(self.params, x[{ { first, last } }],
      y[{ { first, last } }])
    self.params, self.state = opt.step(self.params, grads, self.state,
      self.rate)
    self.rate = self.rate * 0.99
    return loss
  end
  return self
end

-- Nothing warms up before this: the first steps of the process load the library.
case("misses", "no plan is made from the third step of a shape on", function()
  local net, seen = network(), {}
  for _ = 1, 6 do
    for i = 1, 4 do
      local rows = i < 4 and 64 or 40
      seen[rows] = (seen[rows] or 0) + 1
      local made = cost("plan_misses", function() net.step(i):item() end)
      check(seen[rows] < 3 or made == 0,
        ("%d plans at step %d of %d rows"):format(made, seen[rows], rows))
    end
  end
end)

case("programs", "a short last batch has the programs of the others",
  function()
    local net = network()
    for i = 1, 3 do net.step(i):item() end
    eq(cost("programs", function() net.step(4):item() end), 0)
  end)

case("one flush", "forward, backward and step are one flush", function()
  local net = network()
  for i = 1, 3 do net.step(i):item() end
  for i = 1, 3 do
    eq(cost("flushes", function() net.step(i) end), 0)
    eq(cost("flushes", function() net.params[1].bias[1]:item() end), 1)
    eq(cost("flushes", function() net.step(i):item() end), 1)
    eq(cost("flushes", function() net.params[3].weight[1][1]:item() end), 0)
  end
end)

case("buffers", "a steady step allocates its loss and nothing else",
  function()
    local net = network()
    for i = 1, 3 do net.step(i):item() end
    for i = 1, 3 do
      local before = tsh.counters()
      net.step(i):item()
      local after = tsh.counters()
      check(after.buffers - before.buffers <= 1,
        ("%d buffers"):format(after.buffers - before.buffers))
      check(after.bytes_allocated - before.bytes_allocated <= 4096,
        ("%d bytes"):format(after.bytes_allocated - before.bytes_allocated))
      -- two matrices, two vectors, and the momentum of each
      check(after.in_place - before.in_place >= 8,
        ("%d in place"):format(after.in_place - before.in_place))
    end
  end)

case("learning", "all that reuse of memory leaves the loss right", function()
  local net, first, last = network(), 0, 0
  for epoch = 1, 40 do
    local total = 0
    for i = 1, 4 do
      total = total + net.step(i):item()
      check(total == total and total < inf)
    end
    if epoch == 1 then first = total end
    last = total
  end
  check(last < first / 2, ("%g, then %g"):format(first, last))
end)

-- ---- long traces -----------------------------------------------------------
case("cuts", "a loop of 100,000 ops is cut by itself", function()
  local y = zeros(4)
  local flushes = cost("flushes", function()
    for _ = 1, 100000 do y = y + 1 end
  end)
  eq(y, { 1e5, 1e5, 1e5, 1e5 })
  check(flushes >= 10 and flushes <= 100000 / 250,
    ("%d flushes"):format(flushes))
end)

case("misses of cuts", "a loop that is cut makes its plans once", function()
  local y = ones(4)
  local function loop()
    for _ = 1, 20000 do y = y * 1 end
  end
  loop()
  loop()
  eq(cost("plan_misses", loop), 0)
  eq(y, { 1, 1, 1, 1 })
end)

case("long gradient", "10,000 ops under grad", function()
  local function f(x)
    local y = x
    for _ = 1, 5000 do y = y * 1 + x end
    return sum(y)
  end
  eq(grad(f)(tensor { 1.0, 2.0 }), { 5001, 5001 })
end)

case("deep", "100,000 recorded ops are dropped without recursion", function()
  local g = grad(function(x)
    local y = x
    for _ = 1, 100000 do y = y + 1 end
    y = nil
    return sum(x * 3)
  end)(ones(2))
  eq(g, { 3, 3 })
  do
    local y = ones(2)
    for _ = 1, 100000 do y = y:reshape(2) end
  end
  collectgarbage()
  eq(ones(2) + 1, { 2, 2 })
end)

case("wide", "10,000 values of one flush", function()
  local x, all = ones(3), {}
  for i = 1, 3000 do all[i] = x * i end
  local total = 0
  for i = 1, 3000 do total = total + all[i][2]:item() end
  eq(total, 3000 * 3001 / 2)
end)

-- ---- the text of :plan --------------------------------------------------------

-- Launches of a text, and how many of them have a line "cut:".
local function read_plan(text)
  local launches, cuts, last = 0, 0, nil
  for line in text:gmatch("[^\n]+") do
    if line:match("^%d+ +%a+_%d+ ") then
      launches, last = launches + 1, line
    elseif line:match("^ +cut: .*%a") then
      cuts = cuts + 1
    end
  end
  return launches, cuts, last
end

case("reasons", "each launch but the first says why it is one", function()
  local x, y = rand(60, 40), rand(40, 30)
  local i = tensor { 3, 1, 2 }
  local function every(f)
    local text = tsh.plan(f)
    local launches, cuts = read_plan(text)
    check(launches > 0 and cuts == launches - 1, text)
    check(tonumber(text:match("(%d+) launch")) == launches, text)
    return text
  end
  every(function() return softmax(x) end)
  every(function() return x:sum(1), y:exp() end)
  every(function() return matmul(x, y):relu():sum(1) end)
  every(function() return matmul(matmul(x, y), y.T) end)
  every(function() return x:sort(), y:sum() end)
  every(function() return (x - x:mean(1)):sum(2), x:max(1) end)
  every(function() return cat({ x:exp(), x:sqrt() }, 1):sum(1) end)
  every(function() return x[i]:cumsum(1) + 1 end)
  every(function() return x:set(1, 5):sum(2), x:pad({ { 1, 1 }, { 0, 0 } }) end)
  local text = every(function() return x:sort():sum() end)
  check(text:find("cut: sort is the result of an op", 1, true), text)
end)

case("run", "a plan that is run has times, and leaves the values", function()
  local x = rand(200, 50)
  local want = (x:sum(1) * 2):sum():item()
  local y = x:sum(1) * 2
  local z = y:sum()
  local before = tsh.counters().kernels
  local text = tsh.plan(z, y:sort(), { run = true })
  local launches, _, last = read_plan(text)
  check(launches >= 2 and last:match(" %d[%d.]* [num]?s "), text)
  check(text:find("each launch alone", 1, true), text)
  eq(tsh.counters().kernels - before, launches)
  near(z:item(), want, 1e-5)
  eq(tsh.counters().kernels - before, launches)
  check(tsh.plan(z):find("^f32%[%] is ready already"), tsh.plan(z))
end)

case("run sets", "what is set is the same as without", function()
  local x = rand(30)
  local text = tsh.plan(x, { run = true })
  local y = x:set(2, 7.0):set(3, 8.0)
  text = tsh.plan(y, { run = true })
  eq(y[{ { 2, 3 } }], { 7, 8 })
  check(x[2]:item() < 1, text)
end)

case("run wrongly", "a bad position is the error of its value", function()
  local x, at = rand(3), tensor { 5 }
  fails(function() tsh.plan(x[at], { run = true }) end, "outside 1..3")
  fails(function() tsh.plan(x, { rum = true }) end, "unknown option 'rum'")
  fails(function() tsh.plan(3) end, "takes tensors")
end)

case("source", "a line for each instruction", function()
  local x = tensor { 1.0, 2.0 }
  local text = tsh.plan(x:exp():sum() + 1, { source = true })
  for _, part in ipairs { "  folding 2\n", "a0: input f32, dense",
    "v0 = load a0  : f32", " = exp v0  : f32", " = sum v", "a1 = v" } do
    check(text:find(part, 1, true), part .. " is not in\n" .. text)
  end
end)

case("dot", "a node for each launch, an edge for each value", function()
  local x = rand(5, 6) + 1
  tsh.wait(x)
  local text = tsh.plan(x:sort():sum(), { dot = true })
  check(text:find("^digraph plan {\n") and text:find("\n}\n$"), text)
  check(text:find('k1 [label="call_1 on cpu\\nsort"]', 1, true), text)
  check(text:find("leaf0 -> k1", 1, true) and text:find("k1 -> k2", 1, true),
    text)
end)

done()
