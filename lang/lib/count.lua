-- names: histogram bincount
-- methods: histogram bincount
--
-- How often values occur.
local core = require "tsh.core"
local args = require "tsh.args"
local map, fold = core.map, core.fold

local function where(c, x, y) return map("where", c, x, y) end

-- counts[k] of the positions k from 0 among n; other positions are left out.
-- Each counts as much as its weight.
local function count_places(at, known, n, weights)
  at = where(known, at, n)
  local none = core.full({ n + 1 }, 0, weights.dtype, at.device)
  return args.part(core.index_add(none, at, weights, 1), 1, 0, n)
end

-- ---- histogram -------------------------------------------------------------

-- The ends of the bins, widened where they are the same.
local function ends_of(x, lo, hi)
  if lo == nil and core.count(x) == 0 then return 0.0, 1.0 end
  if lo == nil then
    local least, most = fold("min", x), fold("max", x)
    if core.is_hidden(least) then return 0.0, 1.0 end
    lo, hi = least:item(), most:item()
  end
  if lo ~= lo or hi ~= hi or math.abs(lo) == math.huge
    or math.abs(hi) == math.huge then
    core.fail(("histogram: %g to %g is no range"):format(lo, hi),
      "histogram(x, bins, lo, hi) counts between two numbers")
  end
  if lo > hi then
    core.fail(("histogram: the range %g to %g is empty"):format(lo, hi))
  end
  if lo == hi then return lo - 0.5, hi + 0.5 end
  return lo + 0.0, hi + 0.0
end

-- Counts between the edges of one width: the bin is estimated, then compared
-- with its edges, so that these alone decide.
local function count_even(x, edges, bins, lo, hi)
  local wide = x:cast(args.wide(x.device))
  local known = wide:ge(lo) & wide:le(hi)
  local at = map("floor", (where(known, wide, lo) - lo) * (bins / (hi - lo)))
  at = map("minimum", at:cast("i64"), bins - 1)
  local v = x.dtype == edges.dtype and x or x:cast(edges.dtype)
  at = at - (known & v:lt(core.take0(edges, at, 1)) & at:gt(0)):cast("i64")
  at = at + (known & v:ge(core.take0(edges, at + 1, 1))
    & at:lt(bins - 1)):cast("i64")
  return count_places(at, known, bins,
    core.full(x.shape, 1, "i64", x.device))
end

-- Counts between given edges; the last bin has its end.
local function count_between(x, edges)
  local bins = edges.shape[1] - 1
  local after = searchsorted(edges, x, { right = true }) - 1
  local last = x:eq(args.part(edges, 1, bins, 1)):cast("i64")
  local at = after - 1 - last * (after:gt(bins)):cast("i64")
  local inside = x:ge(args.part(edges, 1, 0, 1))
    & x:le(args.part(edges, 1, bins, 1))
  at = map("minimum", at, bins - 1)
  return count_places(at, inside, bins, core.full(x.shape, 1, "i64", x.device))
end

--- histogram(x, bins, lo, hi) or histogram(x, {bins=10, lo=, hi=}): how many
--- elements fall in each of a number of bins of one width from lo to hi (the
--- smallest and largest element without them), and the edges of the bins. A bin
--- has its first edge but not its last, only the last bin has both; what lies
--- outside is not counted. bins may be a tensor of sorted edges.
--- Example: histogram(tensor{1, 2, 2, 4}, 3, 1, 4) --> 1 2 1   1 2 3 4
local function histogram(x, bins, lo, hi)
  args.check_tensor("histogram", x)
  if not core.is_tensor(bins) then
    local o = args.options("histogram", bins, "bins", "bins lo hi")
    bins = o.bins == nil and 10 or o.bins
    if type(o) == "table" and o.lo ~= nil then lo = o.lo end
    if o.hi ~= nil then hi = o.hi end
  end
  x = args.flat(x.dtype == "bool" and x:cast("u8") or x)
  if core.is_tensor(bins) then
    if #bins.shape ~= 1 or bins.shape[1] < 2 then
      core.fail("histogram: edges are a tensor of one axis, at least two, got "
        .. tostring(bins.shape))
    end
    return count_between(x, bins), bins
  end
  bins = args.whole_from("histogram", "the number of bins", bins, 1)
  lo = args.number_option("histogram", { lo = lo }, "lo")
  hi = args.number_option("histogram", { hi = hi }, "hi")
  if (lo == nil) ~= (hi == nil) then
    core.fail("histogram: lo and hi are given together")
  end
  lo, hi = ends_of(x, lo, hi)
  local edges = linspace(lo, hi, bins + 1,
    { dtype = args.wide(x.device), device = x.device })
  if args.FLOAT[x.dtype] then edges = edges:cast(x.dtype) end
  return count_even(x, edges, bins, lo, hi), edges
end

-- ---- bincount --------------------------------------------------------------

--- bincount(x) or bincount(x, {weights=, minlength=0}): how often each of the
--- integers 1, 2 ... is in x, up to the largest one or to minlength; with
--- weights the sums of what stands beside them. What is pending runs.
--- Example: bincount(tensor{1, 3, 3}) --> 1 0 2
local function bincount(x, opts)
  args.check_tensor("bincount", x)
  local o = args.options("bincount", opts, "minlength", "weights minlength")
  if not args.INTEGER[x.dtype] then
    core.fail("bincount: integers are counted, not " .. x.dtype,
      'x:cast("i64")')
  end
  local n = args.whole_from("bincount", "minlength", o.minlength or 0, 0)
  local weights = o.weights
  if weights == nil then
    weights = core.full(x.shape, 1, "i64", x.device)
  else
    args.check_tensor("bincount", weights, 2)
    if weights.shape ~= x.shape then
      core.fail(("bincount: %s weights for %s elements"):format(
        tostring(weights.shape), tostring(x.shape)))
    end
    -- Their sums: i64, of unsigned ones u64.
    if not args.FLOAT[weights.dtype] then
      weights = weights:cast(weights.dtype:sub(1, 1) == "u" and "u64" or "i64")
    end
  end
  if core.count(x) > 0 then
    local least = args.number_of("min", x)
    if least < 1 then
      core.fail(("bincount: %d is no position"):format(least),
        "positions and labels count from 1: labels 0..9 are y + 1")
    end
    n = math.max(n, args.number_of("max", x))
  end
  local none = core.full({ n }, 0, weights.dtype, x.device)
  return core.index_add(none, args.flat(x) - 1, args.flat(weights), 1)
end

return { histogram = histogram, bincount = bincount }
