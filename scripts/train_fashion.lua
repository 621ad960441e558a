-- Trains a network of two layers on pictures of clothes (Fashion-MNIST):
--
--   tsh run scripts/train_fashion.lua [FOLDER [ROWS]]
--
-- The pictures are those of Debian's dataset-fashion-mnist, or the four files
-- of the same names in FOLDER; ROWS: so many of them, for a short look. Every
-- epoch prints one line; the same numbers come out in every run.
local folder = arg[1] or "/usr/share/datasets/fashion-mnist"

local function path_of(name)
  local path = folder .. "/" .. name
  local file = io.open(path, "rb")
  if not file then
    print(("no file %s; the data set is in a package:\n"):format(path)
      .. "  sudo apt-get install dataset-fashion-mnist\n"
      .. "or give the folder that has it: train_fashion.lua FOLDER")
    os.exit(1)
  end
  file:close()
  return path
end

local function pictures(name)
  return data.idx(path_of(name .. "-images-idx3-ubyte.gz"))
end

local function labels(name)
  return data.idx(path_of(name .. "-labels-idx1-ubyte.gz"), { labels = true })
end

local train_x, train_y = pictures("train"), labels("train")
local test_x, test_y = pictures("t10k"), labels("t10k")
local rows = math.min(tonumber(arg[2]) or #train_x, #train_x)
local whole = rows == #train_x
if not whole then
  train_x, train_y = train_x[{ { 1, rows } }], train_y[{ { 1, rows } }]
  test_x, test_y = test_x[{ { 1, rows // 6 } }], test_y[{ { 1, rows // 6 } }]
end

-- Pixels 0..255 stay bytes in memory and become 0..1 where they are used.
local spec = nn.sequence {
  function(x) return x:cast("f32") / 255 end,
  nn.flatten,
  nn.linear(784, 128), nn.relu,
  nn.linear(128, 10),
}
local params = nn.init(spec, 1)
local opt = optim.adam {}
local state = opt.init(params)
local EPOCHS, BATCH = 3, 100
local rate = schedule.cosine { lr = 2e-3, steps = EPOCHS * (rows // BATCH) }

local loss_of = value_and_grad(function(p, xb, yb)
  return cross_entropy(nn.forward(spec, p, xb), yb)
end)

-- What has a name while a value is read is kept, so the gradients have none
-- outside of this function.
local function step(i, xb, yb)
  local loss, grads = loss_of(params, xb, yb)
  params, state = opt.step(params, grads, state, rate(i))
  return loss
end

local function accuracy()
  local right = 0
  for xb, yb in data.batches(test_x, test_y, 1000) do
    local guess = argmax(nn.forward(spec, params, xb), { axis = 2 })
    right = right + guess:eq(yb):sum():item()
  end
  return right / #test_x
end

local steps, right = 0, 0
for epoch = 1, EPOCHS do
  local total, before = 0, steps
  local batches = data.batches(train_x, train_y, BATCH, epoch)
  for xb, yb in progress(batches, "epoch " .. epoch) do
    steps = steps + 1
    total = total + step(steps, xb, yb):item()
  end
  right = accuracy()
  print(("epoch %d  loss %.6f  test accuracy %.4f"):format(epoch,
    total / (steps - before), right))
end
assert(not whole or right >= 0.85, "the network did not learn")
