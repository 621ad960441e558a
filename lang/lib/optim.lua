-- names: optim
--
-- An optimizer holds settings only. What it remembers from step to step is a
-- state of tensors, which step takes and returns: nothing changes in place.
local core = require "tsh.core"
local tree = require("tsh.tree").tree

local optim = {}

local function is_float(t)
  return t.dtype == "f32" or t.dtype == "f64" or t.dtype == "f16"
    or t.dtype == "bf16"
end

local function setting(name, options, key, default)
  local v = options[key]
  if v == nil then v = default end
  if type(v) ~= "number" then
    core.fail(("%s: %s must be a number, got %s"):format(name, key,
      tostring(v)))
  end
  return v
end

-- Zeros for every float tensor; others have no entry.
local function zeros_of(params)
  local leaves, restore = tree.flatten(params)
  for i, p in ipairs(leaves) do leaves[i] = is_float(p) and zeros_like(p) end
  return restore(leaves)
end

--- optim.sgd{lr=, momentum=0}: stochastic gradient descent: v = momentum * v +
--- gradient, p = p - lr * v. Gives a table with two functions: init(params)
--- gives a state, step(params, grads, state, lr) new params and a new state; lr
--- (default: that of sgd) may change from step to step.
--- Example: params, state = opt.step(params, grads, state)
function optim.sgd(options)
  local rate = setting("optim.sgd", options, "lr")
  local momentum = setting("optim.sgd", options, "momentum", 0)
  local opt = {}

  function opt.init(params)
    return momentum ~= 0 and { velocity = zeros_of(params) } or {}
  end

  function opt.step(params, grads, state, lr)
    lr = lr or rate
    local move = grads
    if momentum ~= 0 then
      move = tree.map(function(v, g) return v * momentum + g end,
        state.velocity, grads)
      state = { velocity = move }
    end
    return tree.map(function(p, v) return p - v * lr end, params, move), state
  end

  return opt
end

return { optim = optim }
