-- Kinds of layers. A layer is described by a table with a field `kind`, its
-- spec; the row of that kind says
--   shows                   which fields stand in the layer's short name
--   init(spec, draw)        its parameters and, if it has one, its state
--   forward(spec, params, x, state, run)
--                           its result and, if it has one, its new state
-- draw(init, shape) gives a tensor to begin with; draw.init(spec) the
-- parameters and state of a layer inside this one. run.train says whether the
-- network is trained, run.uniform(shape, like) draws numbers below 1 there,
-- run.apply(spec, params, x, state) computes a layer inside this one.
local core = require "tsh.core"
local checks = require "tsh.checks"
local init = require "tsh.init"

local kinds = {}

-- ---- names -----------------------------------------------------------------

local function text(v)
  if type(v) ~= "table" then return tostring(v) end
  local parts = {}
  for i, n in ipairs(v) do parts[i] = text(n) end
  return table.concat(parts, "x")
end

-- "linear(784, 128)".
function kinds.label(spec)
  local parts = {}
  local row = kinds[spec.kind]
  for _, field in ipairs(row and row.shows or {}) do
    if spec[field] ~= nil then parts[#parts + 1] = text(spec[field]) end
  end
  if #parts == 0 then return tostring(spec.kind) end
  return ("%s(%s)"):format(spec.kind, table.concat(parts, ", "))
end

local function described(v)
  if type(v) == "table" and v.kind then
    return ("kind '%s', which is not defined"):format(tostring(v.kind))
  end
  return checks.shown(v)
end

-- The row of a spec's kind.
function kinds.of(name, spec)
  local row = type(spec) == "table" and type(spec.kind) == "string"
    and kinds[spec.kind]
  if type(row) == "table" then return row end
  core.fail(("%s: argument 1 must be a spec, got %s"):format(name,
    described(spec)), "nn.sequence{nn.linear(2, 8), nn.relu} is one")
end

-- A spec as it is; a function as a layer that calls it; nil for what is none.
function kinds.as_spec(v)
  if type(v) == "function" then return { kind = "fn", fn = v } end
  if type(v) == "table" and v.kind then return v end
  return nil
end

-- ---- draws -----------------------------------------------------------------

-- The source of the initial numbers of a network: each tensor has a range of
-- the key's counter for itself.
function kinds.new_draw(key, dtype, device)
  local at = { key = key, range = 0, dtype = dtype }
  local draw = {}
  function draw.init(spec)
    return kinds.of("nn.init", spec).init(spec, draw)
  end
  return setmetatable(draw, { __call = function(_, given, shape, what)
    local t = init.draw(what or "nn.init", given, shape, at)
    at.range = at.range + 1
    return device and t:to(device) or t
  end })
end

-- ---- runs ------------------------------------------------------------------

local RANGE = 1 << 32
local NONE = {}

-- The parameters weight and bias of a layer, or only the weight.
-- What the rows of kinds say of their parameters' shapes, once for each spec.
local shapes = setmetatable({}, { __mode = "k" })

local function check_shape(spec, name, t, want)
  if core.has_sizes(t, want) then return end
  core.fail(("%s: the %s must be [%s], the parameters have %s"):format(
    kinds.label(spec), name, table.concat(want, ","), tostring(t.shape)),
    "they are of another network, or of this one with other sizes")
end

local function check_shapes(spec, w, b)
  local s = shapes[spec]
  if not s then
    local row = kinds[spec.kind]
    s = row and row.weights and { row.weights(spec) } or {}
    shapes[spec] = s
  end
  if s[1] then check_shape(spec, "weight", w, s[1]) end
  if b and s[2] then check_shape(spec, "bias", b, s[2]) end
end

function kinds.weights(spec, params, has_bias)
  local w, b = params.weight, params.bias
  if core.is_tensor(w) and (not has_bias or core.is_tensor(b)) then
    check_shapes(spec, w, has_bias and b)
    return w, b
  end
  core.fail(("%s: the parameters lack the %s"):format(kinds.label(spec),
    core.is_tensor(w) and "bias" or "weight"), "they are what nn.init gives")
end

-- One way of x through a network; options are train and key.
function kinds.new_run(options)
  local run = { train = options.train == true }
  local key, draws = options.key, 0

  function run.uniform(shape, like)
    if key == nil then
      core.fail("nn.forward: dropout in training needs a key",
        "nn.forward(spec, params, x, {train = true, key = step})")
    end
    local dtype = checks.is_float(like) and like.dtype or "f32"
    local u = core.rand_key_uniform(key, draws * RANGE, shape, dtype)
    draws = draws + 1
    return u.device == like.device and u or u:to(like.device)
  end

  function run.apply(spec, params, x, state)
    local row = kinds[spec.kind] or kinds.of("nn.forward", spec)
    if not core.is_tensor(x) then
      core.fail(("nn.forward: %s needs a tensor, got %s"):format(
        kinds.label(spec), core.kind(x)))
    end
    -- A file keeps no empty table, so what has no parameters may have none.
    if params ~= nil and type(params) ~= "table" then
      core.fail(("nn.forward: %s needs a table of parameters, got %s"):format(
        kinds.label(spec), core.kind(params)), "they are what nn.init gives")
    end
    return row.forward(spec, params or NONE, x, state, run)
  end

  return run
end

-- ---- containers ------------------------------------------------------------

-- The layers of list, one after the other, beginning with params and state of
-- their place in it.
local function init_list(spec, draw)
  local params, state = {}, nil
  for i, layer in ipairs(spec) do
    local p, s = draw.init(layer)
    params[i] = p
    if s then
      state = state or {}
      state[i] = s
    end
  end
  return params, state
end

local function forward_list(spec, params, x, state, run)
  local new_state
  for i, layer in ipairs(spec) do
    local s
    x, s = run.apply(layer, params[i], x, state and state[i])
    if s then
      new_state = new_state or {}
      new_state[i] = s
    end
  end
  return x, new_state
end

kinds.sequence = { shows = {}, init = init_list, forward = forward_list,
  inside = true }

kinds.residual = { shows = {}, init = init_list, inside = true,
  forward = function(spec, params, x, state, run)
    local y, s = forward_list(spec, params, x, state, run)
    if y.shape ~= x.shape then
      core.fail(("nn.residual: the layers must give the shape they got, %s; "
        .. "they give %s"):format(tostring(x.shape), tostring(y.shape)))
    end
    return x + y, s
  end }

kinds.fn = { shows = {}, init = function() return {} end,
  forward = function(spec, _, x)
    local y = spec.fn(x)
    if core.is_tensor(y) then return y end
    core.fail("nn.forward: a function among the layers must return a tensor, "
      .. "got " .. core.kind(y))
  end }

return kinds
