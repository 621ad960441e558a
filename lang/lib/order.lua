-- names: sort argsort topk median unique searchsorted
-- methods: sort argsort topk median unique searchsorted
--
-- Order. All of it is stable, nan is larger than every number, and positions
-- count from 1.
local core = require "tsh.core"
local args = require "tsh.args"
local map, fold = core.map, core.fold

local function where(c, x, y) return map("where", c, x, y) end

-- A tensor without axes as one of one element, and its axis; else the axis.
local function with_axis(name, x, axis)
  if #x.shape == 0 and (axis == nil or axis == 1 or axis == -1) then
    return x:reshape({ 1 }), 1
  end
  return x, args.axis_of(name, x, axis == nil and -1 or axis)
end

--- sort(x, axis) or sort(x, {axis=-1, descending=false}): the elements in order
--- along an axis (the last without it), and their positions in x. Equal ones
--- keep their order, nan counts as the largest.
--- Example: sort(tensor{3, 1, 2}) --> 1 2 3   2 3 1
local function sort(x, axis, opts)
  args.check_tensor("sort", x)
  local o = args.options("sort", axis, "axis", "axis descending", opts)
  local down = args.flag("sort", o, "descending")
  local y, at = with_axis("sort", x, o.axis)
  local values = core.sort(y, at, down)
  local places = core.argsort0(y, at, down) + 1
  if #x.shape > 0 then return values, places end
  return values:reshape({}), places:reshape({})
end

--- argsort(x, axis) or argsort(x, {axis=-1, descending=false}): the positions
--- that sort x along an axis.
--- Example: argsort(tensor{3, 1, 2}) --> 2 3 1
local function argsort(x, axis, opts)
  args.check_tensor("argsort", x)
  local o = args.options("argsort", axis, "axis", "axis descending", opts)
  local y, at = with_axis("argsort", x, o.axis)
  local places = core.argsort0(y, at, args.flag("argsort", o, "descending"))
  return (places + 1):reshape(x.shape)
end

--- topk(x, k) or topk(x, k, {axis=-1, largest=true}): the k largest (smallest)
--- elements along an axis, in order, and their positions.
--- Example: topk(tensor{3, 1, 2}, 2) --> 3 2   1 3
local function topk(x, k, opts)
  args.check_tensor("topk", x)
  local o = args.options("topk", k, "k", "k axis largest", opts)
  k = args.whole_number("topk", "k", o.k)
  local y, at = with_axis("topk", x, o.axis)
  if k < 0 or k > y.shape[at] then
    core.fail(("topk: k is %d, axis %d has %d elements"):format(k, at,
      y.shape[at]))
  end
  local places = core.argtopk0(y, at, k, args.flag("topk", o, "largest", true))
  local values = core.gather0(y, places, at)
  if #x.shape > 0 or k == 0 then return values, places + 1 end
  return values:reshape({}), (places + 1):reshape({})
end

-- ---- median ----------------------------------------------------------------

-- Positions from 0 of the medians along an axis, which stays with extent 1: of
-- the lower middle, or of the first nan.
local function median_place(x, axis)
  local n = x.shape[axis]
  local order = core.argsort0(x, axis, false)
  if not args.FLOAT[x.dtype] then
    return args.part(order, axis, (n - 1) // 2, 1)
  end
  local numbers = fold("sum", ~x:isnan(), { axis }, true)
  return core.gather0(order, where(numbers:eq(n), (n - 1) // 2, numbers), axis)
end

-- The elements that have the value v share its gradient.
local function shared(x, v)
  if not args.FLOAT[x.dtype] then return v end
  v = v:detach()
  return fold("max", where(x:eq(v) | x:isnan(), x, -math.huge))
end

--- median(x): the lower of the two middle elements of all; nan when one is nan.
--- median(x, axis) or median(x, {axis=, keep=}): along an axis, and the
--- positions of the medians.
--- Example: median(tensor{4, 1, 3, 2}) --> 2
local function median(x, axis, opts)
  args.check_tensor("median", x)
  local o = args.options("median", axis, "axis", "axis keep", opts)
  local y, at = x, 1
  if o.axis == nil then
    y = args.flat(x)
  else
    y, at = with_axis("median", x, o.axis)
  end
  if y.shape[at] == 0 then
    core.fail(("median: axis %d has no element"):format(at))
  end
  local place = median_place(y, at)
  local value = core.gather0(y, place, at)
  local s = args.sizes(x)
  if o.axis == nil then
    for i = 1, #s do s[i] = 1 end
    return shared(y, value:reshape({})):reshape(o.keep and s or {})
  end
  if #s > 0 then s[at] = 1 end
  if not o.keep and #s > 0 then table.remove(s, at) end
  return value:reshape(s), (place + 1):reshape(s)
end

-- ---- unique ----------------------------------------------------------------

-- Is each element of sorted s the first of its kind?
local function begins(s)
  local n = core.count(s)
  local differs = args.part(s, 1, 1, n - 1):ne(args.part(s, 1, 0, n - 1))
  return core.pad0(differs, { 1 }, { 0 }, true)
end

--- unique(x) or unique(x, {counts=false, inverse=false}): the different
--- elements of x, sorted; with inverse the position among them of each element
--- of x, with counts how often each is there, in this sequence. Every nan is
--- one of its own. What is pending runs.
--- Example: unique(tensor{2, 1, 2}, {counts=true}) --> 1 2   1 2
local function unique(x, opts)
  args.check_tensor("unique", x)
  local o = args.options("unique", opts, "counts", "counts inverse")
  local flat, n = args.flat(x), core.count(x)
  local order = core.argsort0(flat, 1, false)
  local s, first = core.take0(flat, order, 1), nil
  first = n > 0 and begins(s) or core.full({ 0 }, true, "bool", x.device)
  local places = args.places(first)
  local results = { core.take0(s, places, 1) }
  if args.flag("unique", o, "inverse") then
    local number = core.scan("cumsum", first, 1)
    local none = core.full({ n }, 0, "i64", x.device)
    results[2] = core.index_add(none, order, number, 1):reshape(x.shape)
  end
  if args.flag("unique", o, "counts") then
    local count = core.count(places)
    local ends = core.full({ 1 }, n, "i64", x.device)
    if count > 0 then
      ends = core.cat({ args.part(places, 1, 1, count - 1), ends }, 1)
      results[#results + 1] = ends - places
    else
      results[#results + 1] = places
    end
  end
  return table.unpack(results)
end

-- ---- searchsorted ----------------------------------------------------------

-- a < b where nan is the largest.
local function less(a, b)
  local y = map("lt", a, b)
  if not args.FLOAT[a.dtype] and not args.FLOAT[b.dtype] then return y end
  return y | b:isnan() & ~a:isnan()
end

-- How many of the sorted elements along the last axis stand before each value:
-- bit by bit.
local function count_before(s, v, right)
  local axis = #s.shape
  local n, step = s.shape[axis], 1
  local at = core.full(args.sizes(v), 0, "i64", v.device)
  if n == 0 then return at end
  while step * 2 <= n do step = step * 2 end
  while step >= 1 do
    local next_at = at + step
    local there = core.gather0(s, map("minimum", next_at, n) - 1, axis)
    local before = right and ~less(v, there) or less(there, v)
    at = where(before & next_at:le(n), next_at, at)
    step = step // 2
  end
  return at
end

--- searchsorted(s, x) or searchsorted(s, x, {right=false}): for each element of
--- x the position before which it can stand in s, sorted along its last axis;
--- among equal ones before the first, with right behind the last: 1..n+1. A
--- table s of more than one axis is searched row by row.
--- Example: searchsorted(tensor{1, 3, 5}, tensor{3, 6}) --> 2 4
local function searchsorted(s, x, opts)
  args.check_tensor("searchsorted", s)
  local number = type(x) == "number"
  -- By value: 0.1 is no f32.
  if number then
    x = core.full({}, x, math.type(x) == "float" and args.wide(s.device) or nil,
      s.device)
  end
  args.check_tensor("searchsorted", x, 2)
  local o = args.options("searchsorted", opts, "right", "right")
  local right, v = args.flag("searchsorted", o, "right"), x
  local rows = #s.shape - 1
  if rows < 0 then core.fail("searchsorted: argument 1 has no axes") end
  if rows == 0 then
    v = args.flat(x)
  else
    local same = #x.shape == rows + 1
    for i = 1, rows do same = same and x.shape[i] == s.shape[i] end
    if not same then
      core.fail(("searchsorted: the rows of %s and %s do not agree"):format(
        tostring(s.shape), tostring(x.shape)))
    end
  end
  return (count_before(s, v, right) + 1):reshape(x.shape)
end

return {
  sort = sort,
  argsort = argsort,
  topk = topk,
  median = median,
  unique = unique,
  searchsorted = searchsorted,
}
