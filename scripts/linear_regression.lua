-- Finds a plane through noisy points by gradient descent, and compares it with
-- the one that the normal equations give:
--
--   tsh run scripts/linear_regression.lua
seed(1)
local n, features = 500, 3
local x = randn(n, features)
local slope, offset = tensor { { 2.0 }, { -1.0 }, { 0.5 } }, 3.0
local y = x:matmul(slope) + offset + randn(n, 1) * 0.1

-- ---- gradient descent ------------------------------------------------------
local spec = nn.linear(features, 1)
local params = nn.init(spec, 1)
local opt = optim.sgd { lr = 0.1 }
local state = opt.init(params)
local loss_of = value_and_grad(function(p) return mse(nn.forward(spec, p, x), y) end)

local function step()
  local loss, grads = loss_of(params)
  params, state = opt.step(params, grads, state)
  return loss
end

for epoch = 1, 5 do
  local loss
  for _ = 1, 20 do loss = step() end
  print(("epoch %d  loss %.8f"):format(epoch, loss:item()))
end

-- ---- the closed form -------------------------------------------------------
-- With a column of ones, w solves (x^T x) w = x^T y. In f64, which not every
-- device has, but cpu has.
local wide = cat({ x, ones(n, 1) }, 2):to("cpu"):cast("f64")
local a = wide.T:matmul(wide):table()
local b = wide.T:matmul(y:to("cpu"):cast("f64")):table()

-- Gaussian elimination with the largest pivot.
local function solve(m, v)
  local size = #m
  for i = 1, size do
    local best = i
    for k = i + 1, size do
      if math.abs(m[k][i]) > math.abs(m[best][i]) then best = k end
    end
    m[i], m[best], v[i], v[best] = m[best], m[i], v[best], v[i]
    for k = i + 1, size do
      local f = m[k][i] / m[i][i]
      for j = i, size do m[k][j] = m[k][j] - f * m[i][j] end
      v[k][1] = v[k][1] - f * v[i][1]
    end
  end
  for i = size, 1, -1 do
    for j = i + 1, size do v[i][1] = v[i][1] - m[i][j] * v[j][1] end
    v[i][1] = v[i][1] / m[i][i]
  end
  return tensor(v)
end

local exact = solve(a, b)
local found = cat({ params.weight, params.bias:reshape(1, 1) }, 1)
print("by descent", found.T)
print("exactly   ", exact.T)
assert(allclose(found, exact, { atol = 1e-4 }), "descent missed the minimum")
