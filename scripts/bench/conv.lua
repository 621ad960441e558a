-- Convolution, pooling and a training step, timed: one line for each, NAME and
-- milliseconds, the least of several rounds. conv.py sets PyTorch beside it.
--   tsh run scripts/bench/conv.lua [ROUNDS]
local rounds = tonumber(arg[1]) or 10

local function measure(name, f)
  local least = math.huge
  for i = 1, 3 + rounds do
    local t = os.clock()
    f()
    if i > 3 then least = math.min(least, os.clock() - t) end
  end
  print(("%s\t%.4f"):format(name, least * 1e3))
end

-- Every element of the results is computed; what is read is one number.
local function done(...)
  local total = 0
  for _, x in ipairs { ... } do total = total + sum(x) end
  return total:item()
end

seed(1)
local function normal(...)
  local x = randn(...)
  x:sum():item()
  return x
end

local LAYERS = { -- name, batch, channels, out, extent, kernel, options
  { "3x3 64-64 28", 32, 64, 64, 28, 3, { padding = 1 } },
  { "3x3 16-32 14", 32, 16, 32, 14, 3, { padding = 1 } },
  { "3x3 1-16 28", 32, 1, 16, 28, 3, { padding = 1 } },
  { "3x3/2 64-128 28", 32, 64, 128, 28, 3, { padding = 1, stride = 2 } },
  { "1x1 64-256 14", 32, 64, 256, 14, 1, {} },
  { "depthwise 3x3 64 28", 32, 64, 64, 28, 3, { padding = 1, groups = 64 } },
}

for _, c in ipairs(LAYERS) do
  local name, n, ci, co, s, k, o = table.unpack(c)
  local x, w = normal(n, ci, s, s), normal(co, ci // (o.groups or 1), k, k)
  local r = normal(table.unpack(conv2d(x, w, o).shape:table()))
  measure(name .. " forward", function() done(conv2d(x, w, o)) end)
  local both = grad(function(p) return sum(conv2d(p[1], p[2], o) * r) end)
  measure(name .. " and back", function() done(table.unpack(both { x, w })) end)
end

local POOLS = { { "max 2", max_pool2d, { kernel = 2 } },
  { "max 3/2", max_pool2d, { kernel = 3, stride = 2, padding = 1 } },
  { "avg 2", avg_pool2d, { kernel = 2 } } }

for _, p in ipairs(POOLS) do
  local name, f, o = table.unpack(p)
  local x, r = normal(32, 64, 28, 28), normal(32, 64, 14, 14)
  measure(name .. " forward", function() done(f(x, o)) end)
  local back = grad(function(v) return sum(f(v, o) * r) end)
  measure(name .. " and back", function() done(back(x)) end)
end

-- conv relu pool, twice, linear, cross entropy; batch 32, plain descent.
local params = { normal(16, 1, 3, 3) * 0.3, zeros(16), normal(32, 16, 3, 3) * 0.1,
  zeros(32), normal(1568, 10) * 0.03, zeros(10) }
local x, y = rand(32, 1, 28, 28), arange(32) % 10 + 1
local step = value_and_grad(function(p)
  local h = max_pool2d(relu(conv2d(x, p[1], { padding = 1, bias = p[2] })), 2)
  h = max_pool2d(relu(conv2d(h, p[3], { padding = 1, bias = p[4] })), 2)
  return cross_entropy(h:reshape(32, 1568):matmul(p[5]) + p[6], y)
end)
rounds = 5 * rounds
measure("cnn step", function()
  local loss, grads = step(params)
  params = tree.map(function(p, g) return p - 0.01 * g end, params, grads)
  loss:item()
end)
