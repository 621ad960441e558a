-- Optimizers, clipping and schedules, also against PyTorch's numbers
-- (golden/optim.txt).
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

-- ---- golden ----------------------------------------------------------------

local function numbers(text)
  local t = {}
  for w in text:gmatch("%S+") do t[#t + 1] = tonumber(w) end
  return t
end

local function parts_of(line)
  local parts = {}
  for part in line:gmatch("[^\t]+") do parts[#parts + 1] = part end
  return parts
end

local problem

local function run_optimizer(text, parts, dt, tol)
  local opt = assert(load("return " .. text))()
  local start, goal, slope = problem[1], problem[2], problem[3]
  -- the problem in two leaves, and one that is no float
  local function both(list)
    return { a = tensor(table.move(list, 1, 4, 1, {}), dt):reshape(2, 2),
      b = { tensor(table.move(list, 5, 6, 1, {}), dt) } }
  end
  local p, goals, slopes = both(start), both(goal), both(slope)
  p.n = tensor { 7 }
  local state = opt.init(p)
  for i = 2, #parts do
    local grads = tree.map(function(x, g, s) return (x - g) * s end, p, goals,
      slopes)
    grads.n = nil
    p, state = opt.step(p, grads, state)
    near(cat { p.a:reshape(4), p.b[1] }, numbers(parts[i]), tol)
    eq(p.n, { 7 })
    dtype(p.a, dt)
  end
  tree.each(state, function(t, path)
    check(path == "step" and t.dtype == "f32" or t.dtype == dt, path)
  end)
end

local function run_line(line)
  local parts = parts_of(line)
  local kind, text = parts[1]:match("^(%w+) ?(.*)")
  if kind == "problem" then
    problem = { numbers(parts[2]), numbers(parts[3]), numbers(parts[4]) }
  elseif kind == "optim" then
    case(text, "as PyTorch, f64", function()
      run_optimizer(text, parts, "f64", 1e-14)
    end)
    case(text, "as PyTorch, f32", function()
      run_optimizer(text, parts, "f32", 2e-6)
    end)
  elseif kind == "schedule" then
    case(text, "as PyTorch", function()
      local s, rates = assert(load("return " .. text))(), {}
      for i = 1, 12 do rates[i] = s(i) end
      near(rates, numbers(parts[2]), 1e-15)
    end)
  elseif kind == "clip" then
    case("clip_by_norm " .. text, "as PyTorch", function()
      local t = tensor(problem[1], "f64")
      local g, n = optim.clip_by_norm({ t[{ { 1, 2 } }], w = t[{ { 3, 6 } }] },
        tonumber(text))
      near(n, tonumber(parts[2]), 1e-15)
      near(cat { g[1], g.w }, numbers(parts[3]), 1e-15)
    end)
  end
end

for line in io.lines(here .. "../golden/optim.txt") do run_line(line) end
case("golden", "the file was read", function() check(problem) end)

-- ---- optimizers ------------------------------------------------------------

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
end)

case("state", "holds tensors only, the count of steps too", function()
  local p = { zeros(2, 2), { w = zeros(3) } }
  for _, make in ipairs { optim.sgd, optim.adam, optim.adamw, optim.rmsprop,
    optim.adagrad } do
    local opt = make { lr = 0.1 }
    local q, state = opt.step(p, p, opt.init(p))
    for _, t in pairs(state) do
      check(type(t) == "table" or type(t) == "userdata")
    end
    if state.step then eq(state.step, 1) end
    eq(#tree.leaves(q), 2)
  end
end)

case("adam", "corrects its beginning exactly after many steps", function()
  local p, g = { zeros({ 1 }, { dtype = "f64" }) }, { ones({ 1 },
    { dtype = "f64" }) }
  local opt = optim.adam { lr = 1, eps = 0 }
  local state = opt.init(p)
  state.step = tensor(99999.0)
  state.mean[1], state.square[1] = g[1], g[1]
  local q = opt.step(p, g, state)
  near(q[1], { -1 }, 1e-12)
end)

case("decay", "only where the mask says so", function()
  local p = { w = ones(2, 2), b = ones(2), deep = { scale = ones(2, 2) } }
  local zero = tree.map(zeros_like, p)
  local seen = {}
  local function mask(path, t)
    seen[#seen + 1] = path
    return #t.shape > 1 and path ~= "deep.scale"
  end
  for _, make in ipairs { optim.sgd, optim.adamw, optim.rmsprop,
    optim.adagrad, optim.adam } do
    local opt = make { lr = 0.5, weight_decay = 0.5, decay_mask = mask }
    local q = opt.step(p, zero, opt.init(p))
    check(q.w[{ 1, 1 }]:lt(1):item())
    eq(q.b, { 1, 1 })
    eq(q.deep.scale, { { 1, 1 }, { 1, 1 } })
  end
  table.sort(seen)
  eq(seen[1] == "b" and seen[#seen] == "w", true)
end)

case("errors", "settings, rates, states", function()
  fails(function() optim.sgd {} end, "lr")
  fails(function() optim.sgd { lr = 1, momentum = "x" } end, "momentum")
  fails(function() optim.sgd { lr = 1, momentun = 0.9 } end, "momentun.*it has")
  fails(function() optim.sgd { lr = -1 } end, "at least 0")
  fails(function() optim.sgd { lr = 1, nesterov = true } end, "nesterov")
  fails(function() optim.adam { beta1 = 1 } end, "below 1")
  fails(function() optim.adamw { decay_mask = 3 } end, "function")
  local opt = optim.adam {}
  local p = { ones(2) }
  fails(function() opt.step(p, p, {}) end, "no step.*opt.init")
  fails(function() opt.step(p, p) end, "the state is nil")
  fails(function() opt.step(p, p, opt.init(p), schedule.constant { lr = 1 }) end,
    "number.*s%(step%)")
end)

case("rates", "a rate may be a tensor", function()
  local opt = optim.sgd { lr = 1 }
  local p = { ones(2) }
  eq(opt.step(p, p, opt.init(p), tensor(0.25))[1], { 0.75, 0.75 })
end)

case("clip", "by value, and what is short stays", function()
  local g = { tensor { -3.0, 0.5, 2.0 }, nan = tensor { nan } }
  local c = optim.clip_by_value(g, 1)
  eq(c[1], { -1, 0.5, 1 })
  eq(c.nan, { nan })
  local same_g, n = optim.clip_by_norm({ tensor { 3.0, 4.0 } }, 10)
  eq(same_g[1], { 3, 4 })
  eq(n, 5)
  near(norm(optim.clip_by_norm({ tensor { 3.0, 4.0 } }, 1)[1]), 1, 1e-5)
  fails(function() optim.clip_by_norm({}, 1) end, "no gradient")
  fails(function() optim.clip_by_norm(g) end, "most")
end)

-- ---- schedules -------------------------------------------------------------

case("schedule", "ends, parts and errors", function()
  local cosine = schedule.cosine { lr = 1, to = 0.25, steps = 4 }
  near({ cosine(1), cosine(3), cosine(5), cosine(100) }, { 1, 0.625, 0.25, 0.25 },
    1e-15)
  local warm = schedule.warm_up(4, schedule.linear { lr = 1, steps = 10 })
  near({ warm(1), warm(4), warm(5), warm(10) }, { 0.25, 1, 1, 0.5 }, 1e-15)
  local s = schedule.join { { 2, schedule.constant { lr = 3 } },
    { 1, schedule.constant { lr = 2 } }, schedule.exponential { lr = 1,
    gamma = 0.5 } }
  eq({ s(1), s(2), s(3), s(4), s(5) }, { 3, 3, 2, 1, 0.5 })
  fails(function() cosine(0) end, "from 1")
  fails(function() cosine(tensor(3)) end, "number")
  fails(function() schedule.cosine { lr = 1 } end, "steps")
  fails(function() schedule.cosine { lr = 1, steps = 0 } end, "at least 1")
  fails(function() schedule.step { lr = 1, evry = 3 } end, "evry")
  fails(function() schedule.join { schedule.constant { lr = 1 },
    schedule.constant { lr = 1 } } end, "part 1")
  fails(function() schedule.warm_up(3, 0.1) end, "schedule")
end)

case("errors", "a gradient of another shape, or of no parameter", function()
  for _, opt in ipairs { optim.sgd { lr = 1 }, optim.adam {} } do
    local p = { w = ones(3) }
    local ok, e = pcall(opt.step, p, { w = ones(2, 3) }, opt.init(p))
    check(not ok and e:find("a gradient is [2,3], its parameter [3]", 1, true),
      tostring(e))
    ok, e = pcall(opt.step, p, { v = ones(3) }, opt.init(p))
    check(not ok and e:find("no such parameter", 1, true), tostring(e))
  end
end)

case("init", "numbers, and what is no float, are no parameters", function()
  for _, name in ipairs { "sgd", "adam", "adamw", "rmsprop", "adagrad" } do
    local opt = optim[name] { lr = 0.1 }
    fails(function() opt.init { a = 1.0, b = 0.0 } end, name
      .. ": the parameters are a table without tensors, not float tensors\n"
      .. ".*a is a number: write tensor%(1%.0%)")
    fails(function() opt.init { l = { { w = 2 } } } end,
      "l%[1%]%.w is a number: write tensor%(2%.0%)")
    fails(function() opt.init { n = tensor { 1 } } end, "n is i64%[1%]")
    fails(function() opt.init {} end, "without tensors")
    fails(function() opt.init(2) end, "a number, not float tensors\n.*write "
      .. "tensor%(2%.0%)")
    check(opt.init { a = tensor(1.0), n = 7 })
  end
end)

done()
