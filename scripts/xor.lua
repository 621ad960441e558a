-- The smallest network that needs two layers learns exclusive or:
--
--   tsh run scripts/xor.lua
local x = tensor({ { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }, "f32")
local y = tensor({ { 0 }, { 1 }, { 1 }, { 0 } }, "f32")

local spec = nn.sequence {
  nn.linear(2, 8), nn.tanh,
  nn.linear(8, 1), nn.sigmoid,
}
local params = nn.init(spec, 1)
local opt = optim.sgd { lr = 0.5, momentum = 0.9 }
local state = opt.init(params)
local step = value_and_grad(function(p)
  return mse(nn.forward(spec, p, x), y)
end)

local loss
for i = 1, 400 do
  local grads
  loss, grads = step(params)
  params, state = opt.step(params, grads, state)
  if i % 100 == 0 then print(("step %d  loss %.6f"):format(i, loss:item())) end
end

local out = nn.forward(spec, params, x)
print(out)
assert(all(out:gt(0.5):eq(y:gt(0.5))):item() and loss:item() < 0.01,
  "the network did not learn")
