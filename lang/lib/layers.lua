-- The layers of nn: functions that make specs, and the rows of their kinds.
local core = require "tsh.core"
local checks = require "tsh.checks"
local half = require "tsh.half"
local init = require "tsh.init"
local kinds = require "tsh.kinds"

local nn = {}

local function where(c, x, y) return core.map("where", c, x, y) end

local function nothing() return {} end

-- ---- specs that are layers already -----------------------------------------

-- nn.relu is a spec, and a function of options that makes one like it.
local function ready(kind, make)
  local spec = make()
  spec.kind = kind
  nn[kind] = setmetatable(spec, { __call = function(_, ...)
    local given = make(...)
    given.kind = kind
    return given
  end, __name = "spec" })
end

-- A layer without parameters that is a function of x alone.
local function plain(kind, f)
  kinds[kind] = { init = nothing, forward = function(_, _, x) return f(x) end }
  ready(kind, function() return {} end)
end

local function elementwise(op)
  plain(op, function(x) return core.map(op, x) end)
end

--- nn.relu, nn.tanh, nn.sigmoid, nn.silu, nn.softplus: specs of layers without
--- parameters, which apply the function of that name to every element.
--- Example: nn.sequence{nn.linear(2, 2), nn.relu}
elementwise "relu"
elementwise "tanh"
elementwise "sigmoid"
plain("silu", function(x) return silu(x) end)
plain("softplus", function(x) return softplus(x) end)

local ROOT = math.sqrt(2 / math.pi)

local function gelu_tanh(given)
  local x = half.wide(given)
  local inner = (x + x * x * x * 0.044715) * ROOT
  return half.back(x * (core.map("tanh", inner) + 1) * 0.5, given)
end

--- nn.gelu, nn.gelu{approximate="none"}: x times the normal distribution
--- function at x; approximate="tanh" is the formula with tanh.
--- Example: nn.forward(nn.gelu{approximate="tanh"}, {}, tensor{1.0}) --> 0.84119
ready("gelu", function(o)
  o = checks.options("nn.gelu", o, "approximate")
  local how = o.approximate or "none"
  if how ~= "none" and how ~= "tanh" then
    core.fail("nn.gelu: approximate is \"none\" or \"tanh\", got "
      .. tostring(how))
  end
  return { approximate = how }
end)
kinds.gelu = { shows = {}, init = nothing, forward = function(spec, _, x)
  if spec.approximate == "tanh" then return gelu_tanh(x) end
  return gelu(x)
end }

local function number_or(name, v, default)
  if v == nil then return default end
  if type(v) == "number" then return v end
  core.fail(("%s: argument 1 must be a number, got %s"):format(name,
    core.kind(v)))
end

--- nn.leaky_relu, nn.leaky_relu(slope): x where x > 0, else x * slope (0.01).
--- Example: nn.forward(nn.leaky_relu(0.2), {}, tensor{-1.0, 2.0}) --> -0.2 2
ready("leaky_relu", function(slope)
  return { slope = number_or("nn.leaky_relu", slope, 0.01) }
end)
kinds.leaky_relu = { shows = { "slope" }, init = nothing,
  forward = function(spec, _, x) return leaky_relu(x, spec.slope) end }

--- nn.elu, nn.elu(alpha): x where x > 0, else alpha * (e^x - 1), alpha 1 by
--- default.
--- Example: nn.forward(nn.elu, {}, tensor{-1.0, 2.0}) --> -0.63212 2
ready("elu", function(alpha)
  return { alpha = number_or("nn.elu", alpha, 1) }
end)
kinds.elu = { shows = { "alpha" }, init = nothing,
  forward = function(spec, _, x)
    local above, wide = x:gt(0), half.wide(x)
    local low = core.map("expm1", where(above, 0, wide))
    return half.back(where(above, wide, low * spec.alpha), x)
  end }

local function axis_layer(kind, f)
  ready(kind, function(axis)
    return { axis = axis == nil and -1 or number_or("nn." .. kind, axis) }
  end)
  kinds[kind] = { shows = { "axis" }, init = nothing,
    forward = function(spec, _, x) return f(x, { axis = spec.axis }) end }
end

--- nn.softmax, nn.softmax(axis), nn.log_softmax, nn.log_softmax(axis): along an
--- axis, the last by default. cross_entropy wants neither before it.
--- Example: nn.sequence{nn.linear(4, 3), nn.softmax}
axis_layer("softmax", function(x, o) return x:softmax(o) end)
axis_layer("log_softmax", function(x, o) return x:log_softmax(o) end)

-- ---- shapes ----------------------------------------------------------------

--- nn.flatten, nn.flatten(axis): all axes from this one on (2 by default, so
--- that the rows of a batch stay) become one.
--- Example: nn.sequence{nn.flatten, nn.linear(784, 10)}
ready("flatten", function(axis)
  axis = axis == nil and 2 or axis
  return { axis = checks.whole("nn.flatten", "an axis", axis, 1) }
end)
kinds.flatten = { shows = {}, init = nothing, forward = function(spec, _, x)
  local shape, n = {}, 1
  for i = 1, #x.shape do
    if i < spec.axis then shape[i] = x.shape[i] else n = n * x.shape[i] end
  end
  shape[#shape + 1] = n
  return x:reshape(shape)
end }

--- nn.reshape(...), nn.view(...): gives each row of a batch this shape: x
--- [n, ..] becomes [n, ...]. One extent may be -1.
--- Example: nn.sequence{nn.reshape(1, 28, 28), nn.conv2d(1, 16, 3)}
function nn.reshape(...)
  local shape = type((...)) == "table" and ... or { ... }
  return { kind = "reshape", shape = checks.sizes("nn.reshape", "a shape", shape,
    -1) }
end
nn.view = nn.reshape
kinds.reshape = { shows = { "shape" }, init = nothing,
  forward = function(spec, _, x)
    if #x.shape == 0 then
      core.fail("nn.reshape: x has no axes; its first one counts the rows")
    end
    return x:reshape({ x.shape[1], table.unpack(spec.shape) })
  end }

-- ---- linear, embedding -----------------------------------------------------

-- Uniform within +-1 / sqrt(inputs), as PyTorch draws for such layers.
local function within(inputs)
  local bound = 1 / math.sqrt(inputs)
  return { "uniform", low = -bound, high = bound }
end

-- Fields of a spec that has weight and bias.
local function weighted(name, spec, o)
  spec.bias = checks.flag(name, o, "bias", true)
  spec.init = init.check(name, o.init)
  spec.bias_init = init.check(name, o.bias_init)
  return spec
end

local function draw_weighted(spec, draw, shape, outputs, inputs)
  local what = kinds.label(spec)
  return { weight = draw(spec.init or within(inputs), shape, what),
    bias = spec.bias and draw(spec.bias_init or within(inputs), { outputs },
      what) or nil }
end

--- nn.linear(inputs, outputs, {bias=true, init=, bias_init=}): spec of x W + b
--- for x [.., inputs]. Parameters: weight [inputs, outputs], bias [outputs],
--- both within +-1/sqrt(inputs) unless init= says how (see nn.init.zeros).
--- Example: nn.linear(64, 128, {init = "he_normal", bias_init = "zeros"})
function nn.linear(inputs, outputs, options)
  local name = "nn.linear"
  local o = checks.options(name, options, "bias init bias_init")
  return weighted(name, { kind = "linear",
    inputs = checks.whole(name, "inputs", inputs, 1),
    outputs = checks.whole(name, "outputs", outputs, 1) }, o)
end
kinds.linear = { shows = { "inputs", "outputs" },
  weights = function(spec)
    return { spec.inputs, spec.outputs }, { spec.outputs }
  end,
  init = function(spec, draw)
    return draw_weighted(spec, draw, { spec.inputs, spec.outputs },
      spec.outputs, spec.inputs)
  end,
  forward = function(spec, p, x)
    local rank = #x.shape
    if rank == 0 or x.shape[rank] ~= spec.inputs then
      core.fail(("%s: the last axis of x must have %d elements; x is %s"):format(
        kinds.label(spec), spec.inputs, tostring(x.shape)),
        rank > 2 and "nn.flatten before it puts each row's axes in one"
        or rank == 2 and ("nn.linear(%d, %d) takes it"):format(x.shape[2],
          spec.outputs) or nil)
    end
    local weight, bias = kinds.weights(spec, p, spec.bias)
    if not spec.bias then return x:matmul(weight) end
    if not half.is(x, weight, bias) then return x:matmul(weight) + bias end
    local y = half.wide(x):matmul(half.wide(weight)) + half.wide(bias)
    return half.back(y, x, weight, bias)
  end }

--- nn.embedding(count, size, {init=}): spec of a table of vectors: x [..],
--- integers 1..count, gives [.., size]. Parameters: weight [count, size], drawn
--- from the normal distribution unless init= says how.
--- Example: nn.embedding(1000, 16)
function nn.embedding(count, size, options)
  local name = "nn.embedding"
  local o = checks.options(name, options, "init")
  return { kind = "embedding", count = checks.whole(name, "count", count, 1),
    size = checks.whole(name, "size", size, 1), init = init.check(name, o.init) }
end
kinds.embedding = { shows = { "count", "size" }, input = "i64",
  weights = function(spec) return { spec.count, spec.size } end,
  init = function(spec, draw)
    return { weight = draw(spec.init or "normal", { spec.count, spec.size },
      kinds.label(spec)) }
  end,
  forward = function(spec, p, x)
    if not checks.is_integer(x) then
      core.fail(("%s: x must hold integers 1..%d, got %s"):format(
        kinds.label(spec), spec.count, x.dtype), 'x:cast("i64")')
    end
    return take(kinds.weights(spec, p), x, { axis = 1 })
  end }

-- ---- convolution, pooling --------------------------------------------------

-- A pair for the two axes of a picture, from a number or a list of two.
local function pair(name, what, v, least)
  local list = checks.sizes(name, what, v, least)
  if #list == 1 then list[2] = list[1] end
  if #list == 2 then return list end
  core.fail(("%s: %s is one number or two, got %d"):format(name, what, #list))
end

local function divides(name, groups, n, what)
  if n % groups == 0 then return end
  core.fail(("%s: %d %s cannot be split into %d groups"):format(name, n, what,
    groups))
end

--- nn.conv2d(inputs, outputs, kernel, {stride=1, padding=0, dilation=1,
--- groups=1, bias=true, init=, bias_init=}): spec of a convolution of x
--- [n, inputs, height, width]; sizes are a number or {height, width}.
--- Parameters: weight [outputs, inputs / groups, kernel height, kernel width],
--- bias [outputs].
--- Example: nn.conv2d(1, 16, 3, {padding = 1})
function nn.conv2d(inputs, outputs, kernel, options)
  local name = "nn.conv2d"
  local o = checks.options(name, options,
    "stride padding dilation groups bias init bias_init")
  local spec = { kind = "conv2d",
    inputs = checks.whole(name, "inputs", inputs, 1),
    outputs = checks.whole(name, "outputs", outputs, 1),
    kernel = pair(name, "kernel", kernel, 1),
    stride = pair(name, "stride", o.stride or 1, 1),
    padding = pair(name, "padding", o.padding or 0, 0),
    dilation = pair(name, "dilation", o.dilation or 1, 1),
    groups = checks.whole(name, "groups", o.groups or 1, 1) }
  divides(name, spec.groups, spec.inputs, "inputs")
  divides(name, spec.groups, spec.outputs, "outputs")
  return weighted(name, spec, o)
end

-- x must be pictures with that many channels.
local function check_pictures(spec, x, channels)
  if #x.shape == 4 and (not channels or x.shape[2] == channels) then return end
  core.fail(("%s: x must be [n, %s, height, width], got %s"):format(
    kinds.label(spec), channels and tostring(channels) or "channels",
    tostring(x.shape)), #x.shape == 3 and "x:unsqueeze(1) is a batch of one"
    or nil)
end

kinds.conv2d = { shows = { "inputs", "outputs", "kernel" }, rank = 4,
  weights = function(spec)
    return { spec.outputs, spec.inputs // spec.groups, spec.kernel[1],
      spec.kernel[2] }, { spec.outputs }
  end,
  init = function(spec, draw)
    local inputs = spec.inputs // spec.groups
    local k = spec.kernel
    return draw_weighted(spec, draw, { spec.outputs, inputs, k[1], k[2] },
      spec.outputs, inputs * k[1] * k[2])
  end,
  forward = function(spec, p, x)
    check_pictures(spec, x, spec.inputs)
    local weight, bias = kinds.weights(spec, p, spec.bias)
    return conv2d(x, weight, { stride = spec.stride, padding = spec.padding,
      dilation = spec.dilation, groups = spec.groups,
      bias = spec.bias and bias or nil })
  end }

local function pool(kind, f)
  local name = "nn." .. kind
  nn[kind] = function(kernel, options)
    local o = checks.options(name, options, "stride padding")
    return { kind = kind, kernel = pair(name, "kernel", kernel, 1),
      stride = pair(name, "stride", o.stride or kernel, 1),
      padding = pair(name, "padding", o.padding or 0, 0) }
  end
  kinds[kind] = { shows = { "kernel" }, init = nothing,
    forward = function(spec, _, x)
      check_pictures(spec, x)
      return f(x, { kernel = spec.kernel, stride = spec.stride,
        padding = spec.padding })
    end }
end

--- nn.max_pool2d(kernel, {stride=kernel, padding=0}), nn.avg_pool2d(kernel,
--- {stride=kernel, padding=0}): spec of the largest number, or the mean, of
--- each window of x [n, channels, height, width].
--- Example: nn.max_pool2d(2)
pool("max_pool2d", function(x, o) return max_pool2d(x, o) end)
pool("avg_pool2d", function(x, o) return avg_pool2d(x, o) end)

return nn
