-- The part of tsh in peers.py: for each line that comes, a name and a number of
-- steps, it makes those steps and answers with their last loss.
--
--   tsh run scripts/bench/peers.lua FOLDER
--
-- FOLDER has the data and first parameters that peers.py wrote.
local folder = arg[1] .. "/"

local function trainer(spec, params, x, y, rate, batch)
  local opt = optim.sgd { lr = rate }
  local state = opt.init(params)
  local loss_of = value_and_grad(function(p, xb, yb)
    return cross_entropy(nn.forward(spec, p, xb), yb)
  end)
  local at, rows = 0, #x
  -- Gradients must have no name while the loss is read: they would be kept.
  local function step()
    local part = { { at + 1, at + batch } }
    at = (at + batch) % rows
    local loss, grads = loss_of(params, x[part], y[part])
    params, state = opt.step(params, grads, state)
    return loss
  end
  return function(steps)
    local loss
    for _ = 1, steps do loss = step():item() end
    return loss
  end
end

local names = read(folder .. "data.npz")
local y = names.y + 1
tsh.wait(names.x, y)

local function layer(prefix, name)
  return { weight = names[prefix .. "_w" .. name],
    bias = names[prefix .. "_b" .. name] }
end

local mlp = trainer(
  nn.sequence { nn.linear(784, 128), nn.relu, nn.linear(128, 10) },
  { layer("mlp", 1), {}, layer("mlp", 2) }, names.x, y, 0.1, 100)

local cnn = trainer(
  nn.sequence { nn.conv2d(1, 16, 3, { padding = 1 }), nn.relu, nn.max_pool2d(2),
    nn.conv2d(16, 32, 3, { padding = 1 }), nn.relu, nn.max_pool2d(2),
    nn.flatten, nn.linear(1568, 10) },
  { layer("cnn", 1), {}, {}, layer("cnn", 2), {}, {}, {}, layer("cnn", 3) },
  names.x[{ { 1, 3200 } }]:reshape(3200, 1, 28, 28), y[{ { 1, 3200 } }], 0.05,
  32)

local work = { mlp = mlp, cnn = cnn }
print("ready tsh " .. tsh.version)
io.stdout:flush()
for line in io.lines() do
  local name, steps = line:match("^(%w+) (%d+)$")
  print(("%.9g"):format(work[name](tonumber(steps))))
  io.stdout:flush()
end
