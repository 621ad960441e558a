-- Initialisers: the numbers that parameters begin with. Each is a function of
-- a shape, an integer key and options, and gives a tensor.
local core = require "tsh.core"
local checks = require "tsh.checks"

-- Draws never overlap: each tensor has its own range of the key's counter.
local RANGE = 1 << 32

-- ---- shapes ----------------------------------------------------------------

local function product(list, from)
  local n = 1
  for i = from, #list do n = n * list[i] end
  return n
end

-- How many numbers one output sums over, and one input goes into. Matrices are
-- [inputs, outputs], kernels of convolutions [outputs, inputs, ...].
local function fans(name, shape)
  if #shape < 2 then
    core.fail(("nn.init.%s: a shape of two axes or more is needed, got %d")
      :format(name, #shape), "give another init to what has one axis")
  end
  if #shape == 2 then return shape[1], shape[2] end
  local size = product(shape, 3)
  return shape[2] * size, shape[1] * size
end

-- ---- draws -----------------------------------------------------------------

-- What a draw is made of: where its numbers lie in the key's stream, and the
-- dtype. An integer of the user's is the key of a stream of its own.
local function stream(at) return at.key, at.range * RANGE end

local function uniform_between(at, shape, low, high)
  local key, base = stream(at)
  local u = core.rand_key_uniform(key, base, shape, at.dtype)
  if low == -high then return (u * 2 - 1) * high end
  return u * (high - low) + low
end

local function normal_of(at, shape, mean, std)
  local key, base = stream(at)
  local z = core.randn_key(key, base, shape, at.dtype) * std
  return mean == 0 and z or z + mean
end

-- The inverse of erf, by the polynomials of M. Giles (2012), relative error
-- 4e-7; each list has the highest power first.
local NEAR = { 2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06,
  0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941 }
local FAR = { -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844,
  0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682 }

local function polynomial(list, x)
  local y = x * list[1] + list[2]
  for i = 3, #list do y = y * x + list[i] end
  return y
end

local function erfinv(x)
  local w = -core.map("log", (1 - x) * (1 + x))
  local far = polynomial(FAR, core.map("sqrt", w) - 3)
  return core.map("where", w:lt(5), polynomial(NEAR, w - 2.5), far) * x
end

-- ---- orthogonal matrices ---------------------------------------------------

local function dot(a, b)
  local s = 0.0
  for i = 1, #a do s = s + a[i] * b[i] end
  return s
end

local function subtract(a, b, scale)
  for i = 1, #a do a[i] = a[i] - scale * b[i] end
end

-- The rows made orthogonal to those before, and of length 1: Gram-Schmidt, one
-- row after the other, twice, so that rounding leaves no trace.
local function orthonormal(rows)
  for i, row in ipairs(rows) do
    for _ = 1, 2 do
      for k = 1, i - 1 do subtract(row, rows[k], dot(row, rows[k])) end
    end
    local length = math.sqrt(dot(row, row))
    for j = 1, #row do row[j] = row[j] / length end
  end
  return rows
end

local function orthogonal(at, shape, o)
  fans("orthogonal", shape)
  local n, m = shape[1], product(shape, 2)
  local gain = checks.number("nn.init.orthogonal", o, "gain", 1)
  local low, high = math.min(n, m), math.max(n, m)
  if low == 0 then return core.full(shape, 0, at.dtype) end
  local rows = orthonormal(normal_of(at, { low, high }, 0, 1):table())
  local q = tensor(rows, at.dtype)
  if n > m then q = q.T end
  return q:reshape(shape) * gain
end

-- ---- the table -------------------------------------------------------------

local function spread(name, o, default)
  return checks.within("nn.init." .. name, o, "std", default, 0, math.huge)
end

local function trunc_normal(at, shape, o)
  local name = "nn.init.trunc_normal"
  local mean = checks.number(name, o, "mean", 0)
  local std = spread("trunc_normal", o, 1)
  local low, high = checks.number(name, o, "low", -2),
    checks.number(name, o, "high", 2)
  if not (low < high and std > 0) then
    core.fail(("%s: low must be below high and std above 0"):format(name))
  end
  local root = std * math.sqrt(2)
  local first = core.map("erf", (low - mean) / root)
  local last = core.map("erf", (high - mean) / root)
  local z = erfinv(uniform_between(at, shape, first, last)) * root + mean
  return core.map("minimum", core.map("maximum", z, low), high)
end

-- Rows are (draw, options).
local list = {
  zeros = { function(at, shape) return core.full(shape, 0, at.dtype) end, "" },
  ones = { function(at, shape) return core.full(shape, 1, at.dtype) end, "" },
  constant = { function(at, shape, o)
    local v = checks.number("nn.init.constant", o, "value")
    return core.full(shape, v, at.dtype)
  end, "value" },
  normal = { function(at, shape, o)
    local mean = checks.number("nn.init.normal", o, "mean", 0)
    return normal_of(at, shape, mean, spread("normal", o, 1))
  end, "mean std" },
  uniform = { function(at, shape, o)
    return uniform_between(at, shape,
      checks.number("nn.init.uniform", o, "low", 0),
      checks.number("nn.init.uniform", o, "high", 1))
  end, "low high" },
  trunc_normal = { trunc_normal, "mean std low high" },
  orthogonal = { orthogonal, "gain" },
}

-- Rows of numbers with a variance that the fans give; a uniform draw within
-- +-sqrt(3) s has the standard deviation s.
local function scaled(name, is_uniform, variance, default_gain)
  list[name] = { function(at, shape, o)
    local gain = checks.number("nn.init." .. name, o, "gain", default_gain)
    local s = gain * math.sqrt(variance(fans(name, shape)))
    if not is_uniform then return normal_of(at, shape, 0, s) end
    s = s * math.sqrt(3)
    return uniform_between(at, shape, -s, s)
  end, "gain" }
end

local function both(inputs, outputs) return 2 / (inputs + outputs) end
local function inwards(inputs) return 1 / inputs end

scaled("xavier_uniform", true, both, 1)
scaled("xavier_normal", false, both, 1)
scaled("he_uniform", true, inwards, math.sqrt(2))
scaled("he_normal", false, inwards, math.sqrt(2))

-- ---- calls -----------------------------------------------------------------

local function names()
  local all = {}
  for name in pairs(list) do all[#all + 1] = name end -- order-free
  table.sort(all)
  return table.concat(all, " ")
end

-- The row and the options of an init= of a layer: a name, or {name, ...}.
local function find(what, init)
  local name, o = init, {}
  if type(init) == "table" then
    name = init[1]
    for k, v in pairs(init) do -- order-free
      if k ~= 1 then o[k] = v end
    end
  end
  local row = type(name) == "string" and list[name]
  if row then
    return row[1], checks.options("nn.init." .. name, o, row[2])
  end
  core.fail(("%s: init is %s"):format(what, type(name) == "string"
    and ("'%s', which is no initialiser"):format(name) or core.kind(name)),
    "one of: " .. names() .. "; or {name, option = ...}; or a function of "
    .. "shape and key")
end

local init = {}

--- nn.init.zeros(shape), nn.init.ones(shape), nn.init.constant(shape, key,
--- {value=}), nn.init.normal(shape, key, {mean=0, std=1}),
--- nn.init.uniform(shape, key, {low=0, high=1}), nn.init.trunc_normal(shape,
--- key, {mean=0, std=1, low=-2, high=2}), nn.init.xavier_uniform(shape, key,
--- {gain=1}), nn.init.xavier_normal(shape, key, {gain=1}),
--- nn.init.he_uniform(shape, key, {gain=2^0.5}), nn.init.he_normal(shape, key,
--- {gain=2^0.5}), nn.init.orthogonal(shape, key, {gain=1}): a tensor drawn from
--- an integer key; all take dtype="f32" as well. As init= of a layer: the name,
--- {name, option = ...}, or a function of shape and key. Inputs and outputs are
--- those of a matrix [inputs, outputs] or a kernel [outputs, inputs, ...].
--- Example: nn.init.he_normal({784, 128}, 1)
for name, row in pairs(list) do -- order-free
  local what = "nn.init." .. name
  init[name] = function(shape, key, options)
    shape = checks.sizes(what, "a shape", shape, 0)
    local o = checks.options(what, options, row[2] .. " dtype")
    local fixed = name == "zeros" or name == "ones" or name == "constant"
    return row[1]({ key = fixed and 0 or checks.key(what, key), range = 0,
      dtype = o.dtype or "f32" }, shape, o)
  end
end

-- A check of init= where a layer is described.
function init.check(what, given)
  if given ~= nil and type(given) ~= "function" then find(what, given) end
  return given
end

-- A user's function wants one key: the stream's number, mixed in.
local function mixed(at)
  local x = at.key + (at.range + 1) * 0x9e3779b97f4a7c15
  x = (x ~ x >> 30) * 0xbf58476d1ce4e5b9
  x = (x ~ x >> 27) * 0x94d049bb133111eb
  return x ~ x >> 31
end

local function call(what, f, shape, at)
  local t = f(shape, mixed(at))
  if not core.is_tensor(t) or t.shape ~= shape then
    core.fail(("%s: the init function must give a tensor of shape [%s], got %s")
      :format(what, table.concat(shape, ","), core.is_tensor(t)
      and tostring(t.shape) or core.kind(t)))
  end
  return t:cast(at.dtype)
end

-- The draw of an init= at a place {key=, range=, dtype=}.
function init.draw(what, given, shape, at)
  if type(given) == "function" then return call(what, given, shape, at) end
  local f, o = find(what, given)
  return f(at, shape, o)
end

return init
