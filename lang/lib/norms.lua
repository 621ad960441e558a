-- Layers whose work differs between training and use, and normalisations.
local core = require "tsh.core"
local checks = require "tsh.checks"
local half = require "tsh.half"
local kinds = require "tsh.kinds"

local nn = {}

local function affine(spec, draw, shape)
  if not spec.affine then return {} end
  return { weight = draw("ones", shape), bias = draw("zeros", shape) }
end

-- The same layer, with halves computed in f32 and rounded once.
local function in_f32(forward)
  return function(spec, p, x, state, run)
    local y, new = forward(spec, p, half.wide(x), state, run)
    return half.back(y, x, p.weight, p.bias), new
  end
end

-- ---- dropout ---------------------------------------------------------------

--- nn.dropout(p): spec of a layer that in training makes each element 0 with
--- probability p (0.5 by default) and multiplies the others by 1 / (1 - p);
--- else it does nothing. Training needs a key, which says what is drawn:
--- nn.forward(spec, params, x, {train = true, key = step}).
--- Example: nn.sequence{nn.linear(64, 64), nn.relu, nn.dropout(0.2)}
function nn.dropout(p)
  return { kind = "dropout",
    p = checks.within("nn.dropout", { p = p }, "p", 0.5, 0, 1) }
end
kinds.dropout = { shows = { "p" }, init = function() return {} end,
  forward = function(spec, _, x, _, run)
    if not run.train or spec.p == 0 then return x end
    local kept = run.uniform(x.shape:table(), x):ge(spec.p)
    local scale = spec.p < 1 and 1 / (1 - spec.p) or 0
    return core.map("where", kept, x * scale, 0)
  end }

-- ---- layer_norm ------------------------------------------------------------

--- nn.layer_norm(size, {eps=1e-5, affine=true}): spec that gives x mean 0 and
--- variance 1 along its last axis of this size, or along its last axes of these
--- sizes. Parameters: weight and bias of that shape, unless affine=false.
--- Example: nn.layer_norm(64)
function nn.layer_norm(size, options)
  local name = "nn.layer_norm"
  local o = checks.options(name, options, "eps affine")
  return { kind = "layer_norm", size = checks.sizes(name, "size", size, 1),
    eps = checks.within(name, o, "eps", 1e-5, 0, math.huge),
    affine = checks.flag(name, o, "affine", true) }
end

-- Do the last axes of x have these sizes?
local function ends_in(x, sizes)
  local skip = #x.shape - #sizes
  if skip < 0 then return false end
  for i, n in ipairs(sizes) do
    if x.shape[skip + i] ~= n then return false end
  end
  return true
end

kinds.layer_norm = { shows = { "size" },
  weights = function(spec) return spec.size, spec.size end,
  init = function(spec, draw) return affine(spec, draw, spec.size) end,
  forward = in_f32(function(spec, p, x)
    if not ends_in(x, spec.size) then
      core.fail(("%s: the last axes of x must be [%s]; x is %s"):format(
        kinds.label(spec), table.concat(spec.size, ","), tostring(x.shape)))
    end
    local axes = {}
    for i = 1, #spec.size do axes[i] = #x.shape - #spec.size + i end
    local off = x - x:mean({ axis = axes, keep = true })
    local var = off:square():mean({ axis = axes, keep = true })
    local y = off * core.map("rsqrt", var + spec.eps)
    if not spec.affine then return y end
    local weight, bias = kinds.weights(spec, p, true)
    return y * weight + bias
  end) }

-- ---- batch_norm ------------------------------------------------------------

--- nn.batch_norm(size, {eps=1e-5, momentum=0.1, affine=true}): spec that gives
--- every feature mean 0 and variance 1 over the batch; x is [n, size] or
--- [n, size, ..]. Parameters: weight and bias [size], unless affine=false.
--- State: mean and var [size], running averages: new = (1 - momentum) * old +
--- momentum * batch. nn.init gives the state as its second result, nn.forward
--- in training the new one as its second; otherwise x is normalised by the
--- state.
--- Example: y, state = nn.forward(spec, params, x, {train = true, state = state})
function nn.batch_norm(size, options)
  local name = "nn.batch_norm"
  local o = checks.options(name, options, "eps momentum affine")
  return { kind = "batch_norm", size = checks.whole(name, "size", size, 1),
    eps = checks.within(name, o, "eps", 1e-5, 0, math.huge),
    momentum = checks.within(name, o, "momentum", 0.1, 0, 1),
    affine = checks.flag(name, o, "affine", true) }
end

local function check_features(spec, x, state)
  if #x.shape < 2 or x.shape[2] ~= spec.size then
    core.fail(("%s: x must be [n, %d] or [n, %d, ..], got %s"):format(
      kinds.label(spec), spec.size, spec.size, tostring(x.shape)))
  end
  if type(state) == "table" and state.mean and state.var then return end
  core.fail(kinds.label(spec) .. ": the state is missing",
    "params, state = nn.init(spec, key); nn.forward(spec, params, x, "
    .. "{state = state})")
end

-- All axes of x but the second, and how many elements they have.
local function batch_axes(x)
  local axes, n = {}, 1
  for i = 1, #x.shape do
    if i ~= 2 then
      axes[#axes + 1] = i
      n = n * x.shape[i]
    end
  end
  return axes, n
end

-- [size] as an operand of x.
local function along(t, x)
  local shape = { t.shape[1] }
  for i = 3, #x.shape do shape[i - 1] = 1 end
  return t:reshape(shape)
end

-- The average moves towards what was seen; gradients pass by it.
local function moved(old, seen, momentum)
  return (half.wide(old) * (1 - momentum) + seen:detach() * momentum):cast(old.dtype)
end

-- The batch's mean, variance, x less its mean, and the new state; PyTorch's
-- running variance is that of n - 1, which it normalises by is that of n.
local function statistics(spec, x, state)
  local axes, n = batch_axes(x)
  if n < 2 then
    core.fail(("%s: training needs more than one number for each feature; x is "
      .. "%s"):format(kinds.label(spec), tostring(x.shape)))
  end
  local mean = x:mean({ axis = axes })
  local off = x - along(mean, x)
  local var = off:square():mean({ axis = axes })
  return off, var, { mean = moved(state.mean, mean, spec.momentum),
    var = moved(state.var, var * (n / (n - 1)), spec.momentum) }
end

kinds.batch_norm = { shows = { "size" },
  weights = function(spec) return { spec.size }, { spec.size } end,
  init = function(spec, draw)
    return affine(spec, draw, { spec.size }), { mean = draw("zeros",
      { spec.size }), var = draw("ones", { spec.size }) }
  end,
  forward = in_f32(function(spec, p, x, state, run)
    check_features(spec, x, state)
    local off, var, new
    if run.train then
      off, var, new = statistics(spec, x, state)
    else
      off = x - along(half.wide(state.mean), x)
      var = half.wide(state.var)
    end
    local y = off * along(core.map("rsqrt", var + spec.eps), x)
    if not spec.affine then return y, new end
    local weight, bias = kinds.weights(spec, p, true)
    return y * along(weight, x) + along(bias, x), new
  end) }

return nn
