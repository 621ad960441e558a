-- names: nn
--
-- A network is described by a plain table, its spec; init makes a table of
-- parameters for it, forward computes. Nothing is hidden in an object.
local core = require "tsh.core"
local checks = require "tsh.checks"
local kinds = require "tsh.kinds"
local init = require "tsh.init"

--- nn: a network is a spec, a plain table that nn.linear and others make.
--- nn.init gives its parameters, nn.forward computes, nn.describe shows sizes. A
--- loss, value_and_grad and an optimizer of optim train it.
--- Example: net = nn.sequence{nn.linear(2, 8), nn.relu, nn.linear(8, 1)};
---   params = nn.init(net, 42);
---   nn.forward(net, params, ones(4, 2)).shape --> [4,1]
local nn = {}

for _, file in ipairs { "tsh.layers", "tsh.norms", "tsh.loss",
  "tsh.describe" } do
  for name, f in pairs(require(file)) do nn[name] = f end -- order-free
end

-- ---- layers of layers ------------------------------------------------------

local function list_of(kind, layers)
  local spec, name = { kind = kind }, "nn." .. kind
  if type(layers) ~= "table" or layers.kind then
    core.fail(("%s: argument 1 must be a list of specs, got %s"):format(name,
      type(layers) == "table" and "one spec" or core.kind(layers)),
      name .. "{a, b}")
  end
  for i = 1, #layers do
    spec[i] = kinds.as_spec(layers[i])
    if not spec[i] then
      core.fail(("%s: layer %d is no spec: %s"):format(name, i,
        checks.shown(layers[i])))
    end
    if kinds[spec[i].kind] == nil then
      core.fail(("%s: layer %d has the kind '%s', which is not defined"):format(
        name, i, tostring(spec[i].kind)))
    end
  end
  return spec
end

--- nn.sequence{a, b, ...}: spec of layers, each applied to what the one before
--- gives; a plain function of a tensor is a layer, too. Parameters: an array
--- with one entry for each layer.
--- Example: nn.sequence{nn.linear(2, 8), nn.tanh, nn.linear(8, 1)}
function nn.sequence(layers) return list_of("sequence", layers) end

--- nn.residual{a, b, ...}: spec of x + what the layers, one after the other,
--- make of x. Parameters: as of nn.sequence.
--- Example: nn.residual{nn.linear(8, 8), nn.relu, nn.linear(8, 8)}
function nn.residual(layers) return list_of("residual", layers) end

--- nn.fn(f): spec of a layer that gives f(x); in a list of layers f alone does.
--- Example: nn.fn(function(x) return x / 255 end)
function nn.fn(f)
  if type(f) == "function" then return { kind = "fn", fn = f } end
  core.fail("nn.fn: argument 1 must be a function, got " .. core.kind(f))
end

-- ---- kinds of the user's ---------------------------------------------------

local function check_row(name, row)
  checks.options("nn.layer", row, "init forward shows")
  if type(row.forward) ~= "function" then
    core.fail(("nn.layer: '%s' needs a function forward(spec, params, x, "
      .. "state, run)"):format(name))
  end
  if row.init ~= nil and type(row.init) ~= "function" then
    core.fail(("nn.layer: init of '%s' must be a function, got %s"):format(name,
      core.kind(row.init)))
  end
end

--- nn.layer(kind, {init=, forward=, shows=}): a new kind of layer; gives the
--- function that makes its specs from a table of fields. init(spec, draw)
--- returns its parameters and, if it has one, its state; draw(init, shape) is a
--- tensor to begin with. forward(spec, params, x, state, run) returns the
--- result and, if there is one, the new state; run.train says whether the
--- network is trained, run.uniform(shape, x) draws numbers from 0 to below 1.
--- For layers inside there are draw.init(spec) and run.apply(spec, params, x,
--- state). shows lists the fields that stand in nn.describe.
--- Example: scale = nn.layer("scale", {forward = function(s, p, x) return x * s.by end}); nn.forward(scale{by = 3}, {}, ones(2)) --> 3 3
function nn.layer(kind, row)
  if type(kind) ~= "string" or kind == "" then
    core.fail("nn.layer: argument 1 must be a name, got " .. core.kind(kind))
  end
  local known = kinds[kind]
  if known ~= nil and not (type(known) == "table" and known.of_user) then
    core.fail(("nn.layer: '%s' is a name of nn's own"):format(kind))
  end
  if type(row) ~= "table" then
    core.fail("nn.layer: argument 2 must be a table, got " .. core.kind(row),
      "{init = function, forward = function}")
  end
  check_row(kind, row)
  kinds[kind] = { of_user = true, forward = row.forward,
    init = row.init or function() return {} end, shows = row.shows or {} }
  return function(fields)
    local spec = { kind = kind }
    for k, v in pairs(fields or {}) do spec[k] = v end -- order-free
    return spec
  end
end

-- ---- parameters, forward ---------------------------------------------------

local function call_init(_, spec, key, options)
  if type(spec) == "function" then spec = kinds.as_spec(spec) end
  local row = kinds.of("nn.init", spec)
  checks.key("nn.init", key)
  local o = checks.options("nn.init", options, "dtype device")
  local draw = kinds.new_draw(key, o.dtype or "f32", o.device)
  local params, state = row.init(spec, draw)
  return params, state or {}
end

--- nn.init(spec, key, {dtype="f32", device=}): the parameters of a spec, drawn
--- from an integer key, and its state: what training changes without gradients
--- (of nn.batch_norm; {} where no layer has any). The same key gives the same
--- parameters. How the numbers are drawn: :doc nn.init.zeros
--- Example: local params, state = nn.init(spec, 42)
nn.init = setmetatable(init, { __call = call_init })

local NONE = {}

--- nn.forward(spec, params, x, {train=false, key=, state=}): the output of the
--- network for x. train=true is for training: nn.dropout draws then, from an
--- integer key that should differ from step to step, and nn.batch_norm normalises
--- by the batch, otherwise by state. In training a network that has a state gives
--- the new one as second result.
--- Example: local logits = nn.forward(spec, params, x)
function nn.forward(spec, params, x, options)
  if type(spec) == "function" then spec = kinds.as_spec(spec) end
  kinds.of("nn.forward", spec)
  local o = options == nil and NONE
    or checks.options("nn.forward", options, "train key state")
  if o.key ~= nil then checks.key("nn.forward", o.key) end
  local run = kinds.new_run(o)
  local y, state = run.apply(spec, params, x, o.state)
  state = state or o.state
  if run.train and state then return y, state end
  return y
end

return { nn = nn }
