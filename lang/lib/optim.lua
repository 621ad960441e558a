-- names: optim
--
-- An optimizer holds settings only. What it remembers from step to step is a
-- state of tensors, which step takes and returns: nothing changes in place.
-- The formulas are those of PyTorch.
local core = require "tsh.core"
local checks = require "tsh.checks"
local half = require "tsh.half"
local tree = require("tsh.tree").tree
local map = core.map

--- optim: an optimizer has settings only: opt.init(params) gives a state,
--- opt.step(params, grads, state) new parameters and a new state.
--- Example: opt, params = optim.adam{lr = 0.1}, {w = zeros(2)};
---   loss = value_and_grad(function(p) return sum((p.w - 3) ^ 2) end);
---   state = opt.init(params);
---   for i = 1, 200 do
---     value, grads = loss(params);
---     params, state = opt.step(params, grads, state)
---   end;
---   round(params.w) --> 3 3
local optim = {}

local inf = math.huge

-- ---- states ----------------------------------------------------------------

-- One number for every float tensor; others have no entry.
local function filled(params, value)
  local leaves, restore = tree.flatten(params)
  for i, p in ipairs(leaves) do
    leaves[i] = checks.is_float(p)
      and core.full(p.shape:table(), value, p.dtype, p.device)
  end
  return restore(leaves)
end

-- Nothing to optimize is a mistake: a number where a tensor was meant.
local function check_params(name, params)
  for _, p in ipairs(tree.leaves(params)) do
    if checks.is_float(p) then return end
  end
  local found, hint = require("tsh.tree").instead_of_floats(params)
  core.fail(("%s: the parameters are %s, not float tensors"):format(name,
    found), hint)
end

-- How many steps were made: as PyTorch has it, f32, on the parameters' device.
local function new_count(params)
  for _, p in ipairs(tree.leaves(params)) do
    if checks.is_float(p) then return core.full({}, 0, "f32", p.device) end
  end
  return core.full({}, 0, "f32")
end

-- 1 - beta^count in the dtype of p, exact to rounding also where beta^count is
-- near 1; made once for each dtype of a step.
local function corrections(count, beta)
  local made = {}
  return function(p)
    local dtype = p.dtype == "f64" and "f64" or "f32"
    if beta == 0 then return 1 end
    made[dtype] = made[dtype] or -map("expm1", count:cast(dtype)
      * math.log(beta))
    return made[dtype]
  end
end

-- ---- weight decay ----------------------------------------------------------

local function check_mask(name, o)
  local mask = o.decay_mask
  if mask == nil or type(mask) == "function" then return mask end
  core.fail(("%s: decay_mask must be a function of path and tensor, got %s")
    :format(name, core.kind(mask)))
end

-- How much of each parameter decays: a function of the parameter.
local function decay_of(params, decay, mask)
  if not mask then return function() return decay end end
  local chosen = {}
  tree.each(params, function(p, path)
    if mask(path, p) then chosen[p] = decay end
  end)
  return function(p) return chosen[p] or 0 end
end

-- Gradients with the decay added, as for a loss with decay / 2 * p^2.
local function with_decay(params, grads, s)
  if s.weight_decay == 0 then return grads end
  local decay = decay_of(params, s.weight_decay, s.mask)
  return tree.map(function(g, p)
    local d = decay(p)
    return d == 0 and g or g + p * d
  end, grads, params)
end

-- ---- what all optimizers share ---------------------------------------------

-- Trees like the first with what f gives at every place that all have.
local function each(f, ...) return tree.map(f, ...) end

local function check_rate(name, lr)
  if type(lr) == "number" then return lr end
  if core.is_tensor(lr) and #lr.shape == 0 then return lr end
  core.fail(("%s: lr must be a number, got %s"):format(name, core.kind(lr)),
    type(lr) == "function" and "schedules are called: opt.step(params, grads, "
    .. "state, s(step))" or nil)
end

local function check_step(name, grads, state, fields)
  if type(grads) ~= "table" and not core.is_tensor(grads)
    or type(state) ~= "table" then
    core.fail(("%s: step takes params, grads, state; grads are %s, the state is "
      .. "%s"):format(name, core.kind(grads), core.kind(state)))
  end
  for field in fields:gmatch("%S+") do
    if state[field] == nil then
      core.fail(("%s: the state has no %s"):format(name, field),
        "state = opt.init(params), of an optimizer with the same settings")
    end
  end
end

-- Every gradient must have its parameter's shape, else the step would be spread
-- over it; and a gradient without a parameter was misspelt.
local function check_grads(name, params, grads)
  local n = 0
  tree.map(function(p, g)
    n = n + 1
    if p.shape ~= g.shape then
      core.fail(("%s: a gradient is %s, its parameter %s"):format(name,
        tostring(g.shape), tostring(p.shape)))
    end
    return p
  end, params, grads)
  if n == #tree.leaves(grads) then return end
  tree.each(grads, function(_, path, p)
    if not core.is_tensor(p) then
      core.fail(("%s: there is a gradient for %s, but no such parameter"):format(
        name, path))
    end
  end, params)
end

-- Parameters and states in f16 and bf16 keep their dtype: a step is computed in
-- f32, and what it gives is rounded once.
local function any_half(t)
  for _, p in ipairs(tree.leaves(t)) do
    if half.is(p) then return true end
  end
  return false
end

local function rounded(new, old)
  return each(function(n, o) return half.back(n, o) end, new, old)
end

local function in_f32(step)
  return function(params, grads, state, new, lr)
    if not any_half(params) then return step(params, grads, state, new, lr) end
    local made = each(half.wide, state)
    local moved = step(each(half.wide, params), each(half.wide, grads), made,
      new, lr)
    for field, values in pairs(new) do -- order-free
      new[field] = rounded(values, state[field])
    end
    return rounded(moved, params)
  end
end

-- init makes the fields of the state, `count` and zeros; step(params, grads,
-- state, lr) gives new parameters and the new state.
local function optimizer(name, lr, fields, step, first)
  local opt = {}
  step = in_f32(step)

  local function check_dot(params, what, use)
    if params == opt then
      core.fail(("%s: %s is called with a dot"):format(name, what), use)
    end
  end

  function opt.init(params)
    check_dot(params, "init", "opt.init(params)")
    check_params(name, params)
    local state = {}
    for field in fields:gmatch("%S+") do
      if field == "step" then
        state.step = new_count(params)
      else
        state[field] = filled(params, first and first[field] or 0)
      end
    end
    return state
  end

  function opt.step(params, grads, state, rate)
    check_dot(params, "step", "opt.step(params, grads, state)")
    check_step(name, grads, state, fields)
    check_grads(name, params, grads)
    local new = { step = state.step and state.step + 1 or nil }
    rate = rate == nil and lr or check_rate(name, rate)
    return step(params, grads, state, new, rate), new
  end

  return opt
end

local function read(name, o, known, lr)
  checks.options(name, o, known)
  if type(o) ~= "table" then o = {} end
  local s = { lr = checks.within(name, o, "lr", lr, 0, inf), mask = check_mask(name, o),
    weight_decay = checks.within(name, o, "weight_decay", 0, 0, inf) }
  return o, s
end

-- ---- sgd -------------------------------------------------------------------

-- The velocity's new value; the first is the gradient itself, which shows only
-- where dampening would take from it.
local function velocity(s, state, new, grads)
  return each(function(v, g)
    local moved = v * s.momentum
    if s.dampening == 0 then return moved + g end
    moved = moved + g * (1 - s.dampening)
    return map("where", new.step:le(1), g, moved)
  end, state.velocity, grads)
end

--- optim.sgd{lr=, momentum=0, dampening=0, nesterov=false, weight_decay=0,
--- decay_mask=}: stochastic gradient descent: v = momentum * v + (1 -
--- dampening) * gradient, p = p - lr * v. Every optimizer is a table with two
--- functions: init(params) gives a state, step(params, grads, state, lr) new
--- params and a new state; lr (default: that of the settings) may change from
--- step to step. decay_mask(path, p) says which parameters decay. A state has
--- the parameters' dtypes; steps of f16 and bf16 are computed in f32.
--- Example: params, state = opt.step(params, grads, state)
function optim.sgd(options)
  local name = "optim.sgd"
  local o, s = read(name, options,
    "lr momentum dampening nesterov weight_decay decay_mask")
  s.momentum = checks.within(name, o, "momentum", 0, 0, inf)
  s.dampening = checks.within(name, o, "dampening", 0, 0, 1)
  s.nesterov = checks.flag(name, o, "nesterov", false)
  if s.nesterov and (s.momentum == 0 or s.dampening ~= 0) then
    core.fail("optim.sgd: nesterov needs a momentum and no dampening")
  end
  local fields = s.momentum ~= 0 and "velocity" or ""
  if s.momentum ~= 0 and s.dampening ~= 0 then fields = "step velocity" end

  return optimizer(name, s.lr, fields, function(params, grads, state, new, lr)
    local move = with_decay(params, grads, s)
    if s.momentum ~= 0 then
      new.velocity = velocity(s, state, new, move)
      move = s.nesterov and each(function(g, v) return g + v * s.momentum end,
        move, new.velocity) or new.velocity
    end
    return each(function(p, v) return p - v * lr end, params, move)
  end)
end

-- ---- adam ------------------------------------------------------------------

local function read_adam(name, options, decay)
  local given, s = read(name, options,
    "lr beta1 beta2 eps weight_decay decay_mask", 1e-3)
  s.weight_decay = checks.within(name, given, "weight_decay", decay, 0, inf)
  s.beta1 = checks.within(name, given, "beta1", 0.9, 0, 1)
  s.beta2 = checks.within(name, given, "beta2", 0.999, 0, 1)
  s.eps = checks.within(name, given, "eps", 1e-8, 0, inf)
  if s.beta1 == 1 or s.beta2 == 1 then
    core.fail(name .. ": beta1 and beta2 must be below 1")
  end
  return s
end

local function adam_step(s, params, grads, state, new, lr)
  new.mean = each(function(m, g) return m * s.beta1 + g * (1 - s.beta1) end,
    state.mean, grads)
  new.square = each(function(v, g)
    return v * s.beta2 + g * g * (1 - s.beta2)
  end, state.square, grads)
  local first, second = corrections(new.step, s.beta1),
    corrections(new.step, s.beta2)
  return each(function(p, _, m, v)
    local root = map("sqrt", second(p))
    return p - m / (map("sqrt", v) / root + s.eps) * (lr / first(p))
  end, params, grads, new.mean, new.square)
end

--- optim.adam{lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0,
--- decay_mask=}: Adam: steps of the gradient's average over the root of the
--- average of its square, both corrected for their beginning at 0. weight_decay
--- is added to the gradient; optim.adamw keeps it apart. Use: as optim.sgd.
--- Example: local opt = optim.adam{lr=1e-3}
function optim.adam(options)
  local s = read_adam("optim.adam", options, 0)
  return optimizer("optim.adam", s.lr, "step mean square",
    function(params, grads, ...)
      return adam_step(s, params, with_decay(params, grads, s), ...)
    end)
end

--- optim.adamw{lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01,
--- decay_mask=}: Adam whose parameters shrink by lr * weight_decay before each
--- step. Use: as optim.sgd.
--- Example: optim.adamw{decay_mask=function(path, p) return #p.shape > 1 end}
function optim.adamw(options)
  local s = read_adam("optim.adamw", options, 0.01)
  return optimizer("optim.adamw", s.lr, "step mean square",
    function(params, grads, state, new, lr)
      local decay = decay_of(params, s.weight_decay, s.mask)
      local shrunk = each(function(p)
        local d = decay(p)
        return d == 0 and p or p * (1 - lr * d)
      end, params, grads)
      return adam_step(s, shrunk, grads, state, new, lr)
    end)
end

-- ---- rmsprop, adagrad ------------------------------------------------------

local function rmsprop_step(s, params, grads, state, new, lr)
  local alpha = s.alpha
  new.square = each(function(v, g) return v * alpha + g * g * (1 - alpha) end,
    state.square, grads)
  local variance = new.square
  if s.centered then
    new.mean = each(function(m, g) return m + (g - m) * (1 - alpha) end,
      state.mean, grads)
    variance = each(function(v, m) return v - m * m end, new.square, new.mean)
  end
  local move = each(function(g, v) return g / (map("sqrt", v) + s.eps) end,
    grads, variance)
  if s.momentum ~= 0 then
    new.velocity = each(function(b, d) return b * s.momentum + d end,
      state.velocity, move)
    move = new.velocity
  end
  return each(function(p, _, d) return p - d * lr end, params, grads, move)
end

--- optim.rmsprop{lr=1e-2, alpha=0.99, eps=1e-8, momentum=0, centered=false,
--- weight_decay=0, decay_mask=}: steps of the gradient over the root of the
--- average of its square, less the square of its average where centered. Use:
--- as optim.sgd.
--- Example: local opt = optim.rmsprop{lr=1e-3, momentum=0.9}
function optim.rmsprop(options)
  local name = "optim.rmsprop"
  local o, s = read(name, options,
    "lr alpha eps momentum centered weight_decay decay_mask", 1e-2)
  s.alpha = checks.within(name, o, "alpha", 0.99, 0, 1)
  s.eps = checks.within(name, o, "eps", 1e-8, 0, inf)
  s.momentum = checks.within(name, o, "momentum", 0, 0, inf)
  s.centered = checks.flag(name, o, "centered", false)
  local fields = "square" .. (s.centered and " mean" or "")
    .. (s.momentum ~= 0 and " velocity" or "")
  return optimizer(name, s.lr, fields, function(params, grads, ...)
    return rmsprop_step(s, params, with_decay(params, grads, s), ...)
  end)
end

--- optim.adagrad{lr=1e-2, lr_decay=0, eps=1e-10, initial=0, weight_decay=0,
--- decay_mask=}: steps of the gradient over the root of the sum of its squares,
--- which begins with `initial`; step n has the rate lr / (1 + (n - 1) *
--- lr_decay). Use: as optim.sgd.
--- Example: local opt = optim.adagrad{lr=0.1}
function optim.adagrad(options)
  local name = "optim.adagrad"
  local o, s = read(name, options,
    "lr lr_decay eps initial weight_decay decay_mask", 1e-2)
  s.lr_decay = checks.within(name, o, "lr_decay", 0, 0, inf)
  s.eps = checks.within(name, o, "eps", 1e-10, 0, inf)
  local first = { square = checks.within(name, o, "initial", 0, 0, inf) }
  local fields = s.lr_decay ~= 0 and "step square" or "square"

  return optimizer(name, s.lr, fields, function(params, grads, state, new, lr)
    grads = with_decay(params, grads, s)
    new.square = each(function(v, g) return v + g * g end, state.square, grads)
    return each(function(p, g, v)
      local rate = lr
      if s.lr_decay ~= 0 then
        local n = new.step:cast(p.dtype) - 1
        rate = lr / (n * s.lr_decay + 1)
      end
      return p - g / (map("sqrt", v) + s.eps) * rate
    end, params, grads, new.square)
  end, first)
end

-- ---- clipping --------------------------------------------------------------

--- optim.clip_by_norm(grads, most): gradients of which all numbers together, as
--- one vector, have a length of at most `most`, and the length that they had.
--- Example: grads, length = optim.clip_by_norm(grads, 1.0)
function optim.clip_by_norm(grads, most)
  checks.within("optim.clip_by_norm", { most = most }, "most", nil, 0, inf)
  local total
  for _, g in ipairs(tree.leaves(grads)) do
    local s = half.wide(g):square():sum()
    total = total and total + s or s
  end
  if not total then core.fail("optim.clip_by_norm: there is no gradient") end
  local length = map("sqrt", total)
  local scale = map("minimum", most / (length + 1e-6), 1)
  return each(function(g)
    if half.is(g) then return half.back(half.wide(g) * scale, g) end
    return g * (scale.dtype == g.dtype and scale or scale:cast(g.dtype))
  end, grads), half.back(length, table.unpack(tree.leaves(grads)))
end

--- optim.clip_by_value(grads, most): gradients of which no number is above
--- `most` or below -most.
--- Example: grads = optim.clip_by_value(grads, 0.5)
function optim.clip_by_value(grads, most)
  checks.within("optim.clip_by_value", { most = most }, "most", nil, 0, inf)
  return each(function(g) return clamp(g, -most, most) end, grads)
end

return { optim = optim }
