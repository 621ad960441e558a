-- names: tile repeat_interleave roll split chunk unbind
-- methods: tile repeat_interleave roll split chunk unbind
--
-- Tensors cut into parts, repeated and turned round.
local core = require "tsh.core"
local args = require "tsh.args"

-- ---- repeated --------------------------------------------------------------

local function product(list, first, last)
  local n = 1
  for i = first, last do n = n * list[i] end
  return n
end

--- tile(x, n1, n2, ...) or tile(x, {n1, n2, ...}): x repeated n1, n2 ... times
--- along its axes, the last number for the last axis; axes are added in front
--- where there are more numbers.
--- Example: tile(tensor{1, 2}, 2) --> 1 2 1 2
local function tile(x, ...)
  args.check_tensor("tile", x)
  local times = type((...)) == "table" and { table.unpack((...)) } or { ... }
  local s = args.sizes(x)
  while #times < #s do table.insert(times, 1, 1) end
  while #s < #times do table.insert(s, 1, 1) end
  for i, n in ipairs(times) do
    n = args.whole_from("tile", "a number of times", n, 0)
    if n ~= 1 then
      local before, after = product(s, 1, i - 1), product(s, i, #s)
      x = x:reshape({ before, 1, after }):expand({ before, n, after })
      s[i] = s[i] * n
    end
  end
  return x:reshape(s)
end

-- The position from 0 of the element that each of the repeated ones is: n
-- counts them, so what is pending runs.
local function repeated_places(name, n, extent)
  n = args.check_positions(name, n, 2)
  if #n.shape ~= 1 or (n.shape[1] ~= extent and n.shape[1] ~= 1) then
    core.fail(("%s: %s numbers for %d elements"):format(name,
      tostring(n.shape), extent))
  end
  n = n:cast("i64"):expand({ extent })
  if extent > 0 and args.number_of("min", n) < 0 then
    core.fail(name .. ": a number of times cannot be below 0")
  end
  local ends = core.scan("cumsum", n, 1)
  local total = args.number_of("sum", n)
  return searchsorted(ends, arange(0, total - 1, { device = n.device }),
    { right = true }) - 1
end

--- repeat_interleave(x, n, axis) or repeat_interleave(x, n, {axis=}): each
--- element along the axis (of all elements in a row without it) n times, or
--- as often as the integer tensor n says; then what is pending runs.
--- Example: repeat_interleave(tensor{1, 2}, 2) --> 1 1 2 2
local function repeat_interleave(x, n, axis, opts)
  local name = "repeat_interleave"
  args.check_tensor(name, x)
  local o = args.options(name, axis, "axis", "axis", opts)
  if o.axis == nil then x = args.flat(x) end
  local at, s = args.axis_of(name, x, o.axis or 1), args.sizes(x)
  if type(n) ~= "number" then
    return core.take0(x, repeated_places(name, n, s[at]), at)
  end
  n = args.whole_from(name, "a number of times", n, 0)
  local before, after = product(s, 1, at), product(s, at + 1, #s)
  s[at] = s[at] * n
  return x:reshape({ before, 1, after }):expand({ before, n, after }):reshape(s)
end

-- ---- turned round ----------------------------------------------------------

--- roll(x, n, axis) or roll(x, n, {axis=}): the elements moved n places towards
--- the end of an axis (of all elements in a row without it); what leaves at the
--- end comes back in front. n and axis may be lists.
--- Example: roll(tensor{1, 2, 3}, 1) --> 3 1 2
local function roll(x, n, axis, opts)
  args.check_tensor("roll", x)
  local o = args.options("roll", axis, "axis", "axis", opts, true)
  local shifts = type(n) == "table" and n or { n }
  if n == nil then core.fail("roll: how many places?", "roll(x, 1)") end
  if o.axis == nil then
    if #shifts ~= 1 then
      core.fail(("roll: %d numbers of places without axes"):format(#shifts))
    end
    return roll(args.flat(x), shifts[1], 1):reshape(x.shape)
  end
  local axes = args.axes_of("roll", x, o.axis)
  if #axes ~= #shifts then
    core.fail(("roll: %d numbers of places for %d axes"):format(#shifts, #axes))
  end
  for i, at in ipairs(axes) do
    local size = x.shape[at]
    local k = args.whole_number("roll", "a number of places", shifts[i])
    k = size > 0 and k % size or 0
    if k > 0 then
      x = core.cat({ args.part(x, at, size - k, k),
        args.part(x, at, 0, size - k) }, at)
    end
  end
  return x
end

-- ---- cut -------------------------------------------------------------------

-- The parts of x of the given sizes along an axis.
local function cut(x, sizes, axis)
  local parts, first = {}, 0
  for i, n in ipairs(sizes) do
    parts[i] = args.part(x, axis, first, n)
    first = first + n
  end
  return parts
end

-- Sizes of n elements cut into parts of one size, the last perhaps smaller; no
-- element gives one empty part.
local function equal_sizes(n, size)
  local sizes = {}
  for first = 0, math.max(n - 1, 0), size do
    sizes[#sizes + 1] = math.min(size, n - first)
  end
  return sizes
end

--- split(x, size, axis) or split(x, size, {axis=1}): a list of parts of x along
--- an axis: of one size (the last may be smaller), or of the sizes in a list.
--- Example: split(arange(5), 2) --> 1 2 / 3 4 / 5
local function split(x, size, axis, opts)
  args.check_tensor("split", x)
  local o = args.options("split", axis, "axis", "axis", opts)
  local at = args.axis_of("split", x, o.axis or 1)
  local n, sum, sizes = x.shape[at], 0, {}
  if type(size) ~= "table" then
    size = args.whole_from("split", "a size", size, 1)
    return cut(x, equal_sizes(n, size), at)
  end
  for i, k in ipairs(size) do
    sizes[i] = args.whole_from("split", "a size", k, 0)
    sum = sum + sizes[i]
  end
  if sum ~= n then
    core.fail(("split: the sizes sum up to %d, axis %d has %d elements"):format(
      sum, at, n))
  end
  return cut(x, sizes, at)
end

--- chunk(x, n, axis) or chunk(x, n, {axis=1}): a list of n parts of x along an
--- axis, all but the last of one size; of fewer where n does not divide.
--- Example: chunk(arange(5), 2) --> 1 2 3 / 4 5
local function chunk(x, n, axis, opts)
  args.check_tensor("chunk", x)
  local o = args.options("chunk", axis, "axis", "axis", opts)
  local at = args.axis_of("chunk", x, o.axis or 1)
  n = args.whole_from("chunk", "the number of parts", n, 1)
  local extent = x.shape[at]
  if extent == 0 then
    local sizes = {}
    for i = 1, n do sizes[i] = 0 end
    return cut(x, sizes, at)
  end
  return cut(x, equal_sizes(extent, (extent + n - 1) // n), at)
end

--- unbind(x, axis) or unbind(x, {axis=1}): the list of x's rows, or of its
--- parts along another axis, without that axis.
--- Example: unbind(tensor{{1, 2}, {3, 4}}) --> 1 2 / 3 4
local function unbind(x, axis, opts)
  args.check_tensor("unbind", x)
  local o = args.options("unbind", axis, "axis", "axis", opts)
  local at = args.axis_of("unbind", x, o.axis or 1)
  local s, parts = args.sizes(x), {}
  local n = table.remove(s, at)
  for i = 1, n do parts[i] = args.part(x, at, i - 1, 1):reshape(s) end
  return parts
end

return {
  tile = tile,
  repeat_interleave = repeat_interleave,
  roll = roll,
  split = split,
  chunk = chunk,
  unbind = unbind,
}
