-- Trains a convolutional network on Fashion-MNIST, 60,000 pictures of clothes:
--
--   tsh run scripts/train_fashion_cnn.lua [FOLDER [ROWS]]
--
-- FOLDER holds the four files of the data set, by default where Debian's package
-- dataset-fashion-mnist puts them; ROWS: so many pictures, for a short look.
-- Every epoch prints one line; the same numbers come out in every run.
local folder = arg[1] or "/usr/share/datasets/fashion-mnist"

local function path_of(name)
  local path = folder .. "/" .. name
  local file = io.open(path, "rb")
  if not file then
    print(("no file %s; the data set is in a package:\n"):format(path)
      .. "  sudo apt-get install dataset-fashion-mnist\n"
      .. "or give the folder that has it: train_fashion_cnn.lua FOLDER")
    os.exit(1)
  end
  file:close()
  return path
end

local function load_part(name)
  local x = data.idx(path_of(name .. "-images-idx3-ubyte.gz"))
  local y = data.idx(path_of(name .. "-labels-idx1-ubyte.gz"),
    { labels = true })
  return x, y
end

local train_x, train_y = load_part("train")
local test_x, test_y = load_part("t10k")
local rows = math.min(tonumber(arg[2]) or #train_x, #train_x)
local whole = rows == #train_x
if not whole then
  train_x, train_y = train_x[{ { 1, rows } }], train_y[{ { 1, rows } }]
  test_x, test_y = test_x[{ { 1, rows // 6 } }], test_y[{ { 1, rows // 6 } }]
end

-- Uniform within +-1 / sqrt(inputs).
seed(3)
local function weights(...)
  local shape, inputs = { ... }, 1
  for i = 2, #shape do inputs = inputs * shape[i] end
  return (rand(shape) * 2 - 1) * (1 / math.sqrt(inputs))
end

local params = {
  { w = weights(16, 1, 3, 3), b = zeros(16) },
  { w = weights(32, 16, 3, 3), b = zeros(32) },
  { w = weights(10, 32 * 7 * 7), b = zeros(10) },
}

-- Pictures of bytes to a row of 10 numbers for each.
local function forward(p, x)
  local h = x:cast("f32"):reshape(-1, 1, 28, 28) / 255 - 0.5
  for i = 1, 2 do
    h = conv2d(h, p[i].w, { padding = 1, bias = p[i].b })
    h = max_pool2d(relu(h), 2)
  end
  return h:reshape(-1, 32 * 7 * 7):matmul(p[3].w.T) + p[3].b
end

local step = value_and_grad(function(p, x, y)
  return cross_entropy(forward(p, x), y)
end)

local function accuracy()
  local right = 0
  for x, y in data.batches(test_x, test_y, 500) do
    right = right + sum(argmax(forward(params, x), { axis = 2 }):eq(y))
  end
  return right:item() / #test_x
end

local opt = optim.sgd { lr = 0.05, momentum = 0.9 }
local state = opt.init(params)
local right
for epoch = 1, 2 do
  local total = 0
  local batches = data.batches(train_x, train_y, 32, epoch)
  for x, y in progress(batches, "epoch " .. epoch) do
    local loss, grads = step(params, x, y)
    params, state = opt.step(params, grads, state, epoch == 2 and 0.01 or nil)
    total = total + loss * #x
  end
  right = accuracy()
  print(("epoch %d  loss %.6f  test accuracy %.4f"):format(epoch,
    (total / #train_x):item(), right))
end
assert(not whole or right >= 0.88, "the network did not learn")
