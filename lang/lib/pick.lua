-- names: nonzero masked_select gather take_along_axis scatter_add
-- methods: nonzero masked_select gather take_along_axis scatter_add
--
-- Elements at positions. Positions count from 1, negative ones from the end.
local core = require "tsh.core"
local args = require "tsh.args"
local map = core.map

local function to_mask(x)
  return x.dtype == "bool" and x or x:ne(0)
end

--- nonzero(x): the positions of the elements that are not 0, [n, axes of x],
--- row-major: row k of the result is an index of x. What is pending runs.
--- Example: nonzero(tensor{0, 5, 7}) --> 2 / 3
local function nonzero(x)
  args.check_tensor("nonzero", x)
  local places = args.places(to_mask(x))
  local n, step, columns = core.count(places), core.count(x), {}
  if #x.shape == 0 then return core.full({ n, 0 }, 0, "i64", x.device) end
  for i, extent in ipairs(args.sizes(x)) do
    step = extent > 0 and step // extent or 0
    local at = step > 1 and map("floordiv", places, step) or places
    if i > 1 and extent > 0 then at = map("mod", at, extent) end
    columns[i] = (at + 1):reshape({ n, 1 })
  end
  return core.cat(columns, 2)
end

--- masked_select(x, mask): the elements where the mask is true, in one axis;
--- both are broadcast. x[mask] takes whole rows. What is pending runs.
--- Example: masked_select(tensor{1, 2, 3}, tensor{true, false, true}) --> 1 3
local function masked_select(x, mask)
  args.check_tensor("masked_select", x)
  args.check_tensor("masked_select", mask, 2)
  if mask.dtype ~= "bool" then
    core.fail("masked_select: the mask must be bool, not " .. mask.dtype,
      "mask:ne(0)")
  end
  local s = args.broadcast("masked_select", args.sizes(x), args.sizes(mask))
  local places = args.places(mask:expand(s))
  return core.take0(args.flat(x:expand(s)), places, 1)
end

-- ---- along an axis ---------------------------------------------------------

-- The axis of a call, which a tensor of one axis need not name.
local function axis_of(name, x, axis, opts)
  local o = args.options(name, axis, "axis", "axis", opts)
  if o.axis == nil and #x.shape ~= 1 then
    core.fail(("%s: which of the %d axes?"):format(name, #x.shape),
      name .. "(x, at, {axis=1})")
  end
  return args.axis_of(name, x, o.axis or 1)
end

local function check_rank(name, x, at)
  if #at.shape == #x.shape then return end
  core.fail(("%s: positions %s must have as many axes as x %s"):format(name,
    tostring(at.shape), tostring(x.shape)), "x[at] takes whole rows")
end

--- gather(x, at, axis) or gather(x, at, {axis=}): for each position the element
--- of x there along the axis: y[{i, j}] = x[{at[{i, j}], j}] for axis 1. at has
--- as many axes as x and is nowhere larger but along the axis.
--- Example: gather(tensor{{1, 2}, {3, 4}}, tensor{{2, 1}}, 1) --> 3 2
local function gather(x, at, axis, opts)
  args.check_tensor("gather", x)
  at = args.check_positions("gather", at, 2)
  check_rank("gather", x, at)
  axis = axis_of("gather", x, axis, opts)
  return core.gather0(x, core.index0(at, x.shape[axis]), axis)
end

--- take_along_axis(x, at, axis) or take_along_axis(x, at, {axis=-1}): as
--- gather, where x and at are broadcast beside the axis: what argsort, argmax
--- with keep and topk give fits.
--- Example: take_along_axis(tensor{3, 1, 2}, tensor{2, 3, 1}) --> 1 2 3
local function take_along_axis(x, at, axis, opts)
  args.check_tensor("take_along_axis", x)
  at = args.check_positions("take_along_axis", at, 2)
  check_rank("take_along_axis", x, at)
  local o = args.options("take_along_axis", axis, "axis", "axis", opts)
  axis = args.axis_of("take_along_axis", x, o.axis or -1)
  local s, t = args.sizes(x), args.sizes(at)
  local n, m = s[axis], t[axis]
  s[axis], t[axis] = 1, 1
  local wide = args.broadcast("take_along_axis", s, t)
  at = core.index0(at, n)
  wide[axis] = m
  at = at:expand(wide)
  wide[axis] = n
  return core.gather0(x:expand(wide), at, axis)
end

--- scatter_add(x, at, v, axis) or scatter_add(x, at, v, {axis=}): x with each
--- element of v added at its position along the axis: y[{at[{i, j}], j}] +=
--- v[{i, j}] for axis 1; equal positions add up. at has as many axes as x; v is
--- a number, or at least as large as at.
--- Example: scatter_add(zeros(3), tensor{1, 1}, ones(2)) --> 2 0 0
local function scatter_add(x, at, v, axis, opts)
  args.check_tensor("scatter_add", x)
  at = args.check_positions("scatter_add", at, 2)
  args.check_operand("scatter_add", v, 3)
  check_rank("scatter_add", x, at)
  axis = axis_of("scatter_add", x, axis, opts)
  if not core.is_tensor(v) then
    v = core.full(at.shape, v, x.dtype, x.device)
  end
  if promote(x.dtype, v.dtype) ~= x.dtype then
    core.fail(("scatter_add: %s values do not fit %s without loss"):format(
      v.dtype, x.dtype), ('v:cast("%s")'):format(x.dtype))
  end
  check_rank("scatter_add", x, v)
  local ranges = args.whole(v)
  for i, n in ipairs(args.sizes(at)) do
    if v.shape[i] < n then
      core.fail(("scatter_add: values %s are smaller than positions %s"):format(
        tostring(v.shape), tostring(at.shape)))
    end
    ranges[i][2] = n
  end
  if v.shape ~= at.shape then v = core.slice0(v, ranges) end
  return core.scatter_add0(x, core.index0(at, x.shape[axis]), v, axis)
end

return {
  nonzero = nonzero,
  masked_select = masked_select,
  gather = gather,
  take_along_axis = take_along_axis,
  scatter_add = scatter_add,
}
