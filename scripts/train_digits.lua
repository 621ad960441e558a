-- Trains a network of two layers on real handwritten digits:
--
--   tsh run scripts/train_digits.lua [EPOCHS]
--
-- Every epoch prints one line; the same numbers come out in every run.
local folder = arg[0]:match("^.*/") or ""
local x, y = read(folder .. "data/digits.csv", { labels = true })

-- Four of five rows are for training. Pixels 0..16 become -2..2.
local train_x, train_y, test_x, test_y = data.split(x / 4 - 2, y, 0.8, 1)

local spec = nn.sequence {
  nn.linear(64, 128), nn.relu,
  nn.linear(128, 10),
}
local params = nn.init(spec, 2)
local opt = optim.sgd { lr = 0.1, momentum = 0.9 }
local state = opt.init(params)

local step = value_and_grad(function(p, xb, yb)
  return cross_entropy(nn.forward(spec, p, xb), yb)
end)

local function accuracy()
  local guess = argmax(nn.forward(spec, params, test_x), { axis = 2 })
  return mean(guess:eq(test_y)):item()
end

local epochs, right = tonumber(arg[1]) or 20, 0
for epoch = 1, epochs do
  local total = 0
  for xb, yb in data.batches(train_x, train_y, 64, epoch) do
    local loss, grads = step(params, xb, yb)
    params, state = opt.step(params, grads, state, epoch > 14 and 0.02 or nil)
    total = total + loss * #xb
  end
  right = accuracy()
  print(("epoch %2d  loss %.6f  test accuracy %.4f"):format(epoch,
    (total / #train_x):item(), right))
end
assert(epochs < 20 or right >= 0.95, "the network did not learn")
