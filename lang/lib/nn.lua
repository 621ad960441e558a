-- names: nn cross_entropy mse
--
-- A network is described by a plain table, its spec; init makes a table of
-- parameters for it, forward computes. Nothing is hidden in an object.
local core = require "tsh.core"
local half = require "tsh.half"

local nn = {}

-- ---- specs -----------------------------------------------------------------

--- nn.linear(inputs, outputs, {bias=true}): spec of x W + b for x [.., inputs].
--- Parameters: weight [inputs, outputs], bias [outputs].
--- Example: nn.linear(64, 128)
function nn.linear(inputs, outputs, options)
  for _, n in ipairs({ inputs, outputs }) do
    if type(n) ~= "number" or n % 1 ~= 0 or n < 1 then
      core.fail("nn.linear: sizes are whole numbers from 1, got "
        .. tostring(n))
    end
  end
  return { kind = "linear", inputs = inputs, outputs = outputs,
    bias = not (options and options.bias == false) }
end

--- nn.sequence{a, b, ...}: spec of layers, each applied to what the one before
--- gives. Parameters: an array with one entry for each layer.
--- Example: nn.sequence{nn.linear(2, 8), nn.tanh, nn.linear(8, 1)}
function nn.sequence(layers)
  local spec = { kind = "sequence" }
  if type(layers) ~= "table" then
    core.fail("nn.sequence: argument 1 must be a list of specs, got "
      .. core.kind(layers))
  end
  for i, layer in ipairs(layers) do
    if type(layer) ~= "table" or not layer.kind then
      core.fail(("nn.sequence: layer %d is no spec: %s"):format(i,
        tostring(layer)))
    end
    spec[i] = layer
  end
  return spec
end

--- nn.relu, nn.tanh, nn.sigmoid: specs of layers without parameters, which
--- apply the function to every element.
--- Example: nn.sequence{nn.linear(2, 2), nn.relu}
nn.relu = { kind = "relu" }
nn.tanh = { kind = "tanh" }
nn.sigmoid = { kind = "sigmoid" }

-- ---- kinds of layers -------------------------------------------------------

-- Draws never overlap: each tensor has its own range of the key's counter.
local DRAW = 1 << 32

local function next_draw(state)
  state.draws = state.draws + 1
  return (state.draws - 1) * DRAW
end

-- Uniform within +-1 / sqrt(inputs), as PyTorch draws for its linear layers.
local function uniform(state, shape, inputs)
  local u = core.rand_key_uniform(state.key, next_draw(state), shape, "f32")
  return (u * 2 - 1) * (1 / math.sqrt(inputs))
end

local function no_parameters() return {} end

local function elementwise(op)
  return { init = no_parameters, forward = function(_, _, x)
    return core.map(op, x)
  end }
end

local kinds = {
  relu = elementwise("relu"),
  tanh = elementwise("tanh"),
  sigmoid = elementwise("sigmoid"),
  linear = {
    init = function(spec, state)
      local n, m = spec.inputs, spec.outputs
      local weight = uniform(state, { n, m }, n)
      return { weight = weight, bias = spec.bias and uniform(state, { m }, n)
        or nil }
    end,
    forward = function(spec, p, x)
      local y = x:matmul(p.weight)
      return spec.bias and y + p.bias or y
    end,
  },
}

kinds.sequence = {
  init = function(spec, state)
    local params = {}
    for i, layer in ipairs(spec) do
      params[i] = kinds[layer.kind].init(layer, state)
    end
    return params
  end,
  forward = function(spec, params, x)
    for i, layer in ipairs(spec) do
      x = kinds[layer.kind].forward(layer, params[i], x)
    end
    return x
  end,
}

local function kind_of(name, spec)
  local kind = type(spec) == "table" and kinds[spec.kind]
  if kind then return kind end
  core.fail(("%s: argument 1 must be a spec, got %s"):format(name,
    type(spec) == "table" and "kind " .. tostring(spec.kind) or type(spec)))
end

--- nn.init(spec, key): the parameters of a spec, f32, drawn from an integer key.
--- The same key gives the same parameters.
--- Example: local params = nn.init(spec, 42)
function nn.init(spec, key)
  if math.type(key) ~= "integer" then
    core.fail("nn.init: a key is an integer, got " .. tostring(key))
  end
  return kind_of("nn.init", spec).init(spec, { key = key, draws = 0 })
end

--- nn.forward(spec, params, x): the output of the network for x, whose last
--- axis holds the inputs.
--- Example: local logits = nn.forward(spec, params, x)
function nn.forward(spec, params, x)
  return kind_of("nn.forward", spec).forward(spec, params, x)
end

-- ---- losses ----------------------------------------------------------------

local INTEGER = { u8 = true, i8 = true, i16 = true, i32 = true, i64 = true,
  u16 = true, u32 = true, u64 = true }

local function check_labels(logits, labels)
  if not (core.is_tensor(logits) and core.is_tensor(labels)) then
    core.fail("cross_entropy: two tensors are needed, logits and labels")
  end
  if not INTEGER[labels.dtype] then
    core.fail("cross_entropy: labels must be integers, got " .. labels.dtype,
      'labels:cast("i64")')
  end
  local rank = #labels.shape
  local fits = #logits.shape == rank + 1
  for i = 1, rank do
    fits = fits and logits.shape[i] == labels.shape[i]
  end
  if not fits then
    core.fail(("cross_entropy: logits %s need labels of the same shape without "
      .. "the last axis, got %s"):format(tostring(logits.shape),
      tostring(labels.shape)))
  end
end

--- cross_entropy(logits, labels): mean of -log softmax(logits) at the labels.
--- logits [.., C] are any floats, labels [..] integers 1..C. Errors: labels
--- that are floats, outside 1..C (data that counts from 0: y + 1), or not as
--- many as rows.
--- Example: cross_entropy(tensor{{0.0, 0.0}}, tensor{1}) --> 0.69315
local function cross_entropy(logits, labels)
  check_labels(logits, labels)
  local classes = logits.shape[#logits.shape]
  -- Counting from the end has no meaning for labels.
  local y = where(labels:lt(0), 0, labels)
  local hot = one_hot(y, classes, "bool")
  local log_p = half.wide(logits):log_softmax({ axis = -1 })
  local picked = where(hot, log_p, 0)
  return half.back(-picked:sum({ axis = -1 }):mean(), logits)
end

--- mse(x, y): mean of (x - y)^2 over all elements; x and y of one shape.
--- Example: mse(tensor{1.0, 2.0}, tensor{1.0, 4.0}) --> 2
local function mse(x, y)
  if not (core.is_tensor(x) and core.is_tensor(y)) then
    core.fail(("mse: two tensors are needed, got %s and %s"):format(
      core.kind(x), core.kind(y)))
  end
  if x.shape ~= y.shape then
    core.fail(("mse: shapes differ: %s and %s"):format(tostring(x.shape),
      tostring(y.shape)))
  end
  return half.back(core.map("square", half.wide(x) - half.wide(y)):mean(), x, y)
end

nn.cross_entropy = cross_entropy
nn.mse = mse

return { nn = nn, cross_entropy = cross_entropy, mse = mse }
