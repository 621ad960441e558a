-- names: cumsum cumprod count_nonzero amax amin
-- methods: cumsum cumprod count_nonzero amax amin
--
-- Scans along an axis, and reductions that have no function of their own in C.
local core = require "tsh.core"
local args = require "tsh.args"
local fold = core.fold

local function scan(name, x, axis, opts)
  args.check_tensor(name, x)
  local o = args.options(name, axis, "axis", "axis", opts)
  if #x.shape == 0 and (o.axis == nil or o.axis == 1 or o.axis == -1) then
    return core.scan(name, x:reshape({ 1 }), 1):reshape({})
  end
  if o.axis == nil and #x.shape > 1 then
    core.fail(("%s: which of the %d axes?"):format(name, #x.shape),
      ("%s(x, 1), or %s(x:flatten()) of all elements"):format(name, name))
  end
  return core.scan(name, x, args.axis_of(name, x, o.axis or 1))
end

--- cumsum(x, axis) or cumsum(x, {axis=}): the sum of the elements up to each
--- one along an axis, which a tensor of one axis need not name. Sums of bool
--- and integers are i64.
--- Example: cumsum(tensor{1, 2, 3}) --> 1 3 6
local function cumsum(x, axis, opts) return scan("cumsum", x, axis, opts) end

--- cumprod(x, axis) or cumprod(x, {axis=}): the product of the elements up to
--- each one along an axis, which a tensor of one axis need not name.
--- Example: cumprod(tensor{1, 2, 3}) --> 1 2 6
local function cumprod(x, axis, opts) return scan("cumprod", x, axis, opts) end

--- count_nonzero(x, axis) or count_nonzero(x, {axis=, keep=}): how many
--- elements are not 0; i64.
--- Example: count_nonzero(tensor{0, 5, 7}) --> 2
local function count_nonzero(x, axis, opts)
  args.check_tensor("count_nonzero", x)
  local o = args.options("count_nonzero", axis, "axis", "axis keep", opts, true)
  return fold("sum", x:ne(0), args.axes_of("count_nonzero", x, o.axis),
    args.flag("count_nonzero", o, "keep"))
end

local function extreme(name, op, x, axis, opts)
  args.check_tensor(name, x)
  local o = args.options(name, axis, "axis", "axis keep", opts, true)
  return fold(op, x, args.axes_of(name, x, o.axis), args.flag(name, o, "keep"))
end

--- amax(x, axis) or amax(x, {axis=, keep=}): the largest element, as max{}.
--- Example: amax(tensor{{1, 5}, {3, 2}}, 1) --> 3 5
local function amax(x, axis, opts)
  return (extreme("amax", "max", x, axis, opts))
end

--- amin(x, axis) or amin(x, {axis=, keep=}): the smallest element, as min{}.
--- Example: amin(tensor{{1, 5}, {3, 2}}, 1) --> 1 2
local function amin(x, axis, opts)
  return (extreme("amin", "min", x, axis, opts))
end

return {
  cumsum = cumsum,
  cumprod = cumprod,
  count_nonzero = count_nonzero,
  amax = amax,
  amin = amin,
}
