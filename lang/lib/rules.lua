-- What the gradient of every op is. A rule stands in one line:
--
--   op = { saves, rule for input 1, rule for input 2, ... }
--
-- saves names what the rules look at: o the result (r.out), x y z the inputs
-- 1 to 3 (r.x, r.y, r.z: a tensor or a number), * all of these; r[k] is input k,
-- of which shape, dtype and device may be asked. A rule takes the gradient g of
-- the result and the record r and gives the gradient of its input, in its
-- shape; `no` and inputs without a rule have none. `each` is the rule of all
-- inputs (from number `from` on) and gets the input's number.
local core = require "tsh.core"
local windows = require "tsh.windows"
local map, fold = core.map, core.fold

local no = false
local function same(g) return g end

local function where(c, x, y) return map("where", c, x, y) end

-- ---- shapes ----------------------------------------------------------------

local shape_of = core.sizes

local function input_shape(r, k) return shape_of(r[k]) end

-- t, shaped as the result of fold r, with its folded axes put back: extent 1.
local function kept(t, r)
  local s = input_shape(r, 1)
  for _, axis in ipairs(r.axes) do s[axis] = 1 end
  return t:reshape(s)
end

local function product(list, from)
  local n = 1
  for i = from or 1, #list do n = n * list[i] end
  return n
end

local function inverse(order)
  local back = {}
  for i, axis in ipairs(order) do back[axis] = i end
  return back
end

-- Axes 1..rank, those of `last` moved behind the others.
local function order_last(rank, last)
  local order, is_last = {}, {}
  for _, axis in ipairs(last) do is_last[axis] = true end
  for i = 1, rank do
    if not is_last[i] then order[#order + 1] = i end
  end
  return table.move(last, 1, #last, #order + 1, order)
end

local function pick(list, order)
  local t = {}
  for i, k in ipairs(order) do t[i] = list[k] end
  return t
end

local function zeros_of(s, like)
  return core.full(s, 0, like.dtype, like.device)
end

-- ---- gradients that are one number -----------------------------------------
-- The gradient of a mean is the same everywhere. While it is a number it stays
-- one: the kernels that use it need no other that makes it. Only what `full`
-- made counts, never a view of it: such a view may be what somebody asks the
-- gradient of.

local function filled_like(g, shape, number)
  return core.full(shape, number, g.dtype, g.device)
end

-- v as g's dtype has it; products and quotients of two such numbers, rounded
-- once to f32, are those of f32.
local function rounded(v, g)
  return g.dtype == "f32" and ("f"):unpack(("f"):pack(v)) or v
end

local function negated(g)
  local c = core.filled(g)
  return c and filled_like(g, shape_of(g), -c) or -g
end

local function times(g, v)
  local c = type(v) == "number" and core.filled(g)
  return c and filled_like(g, shape_of(g), c * rounded(v, g)) or g * v
end

local function over(g, v)
  local c = type(v) == "number" and core.filled(g)
  return c and filled_like(g, shape_of(g), c / rounded(v, g)) or g / v
end

-- ---- rules that need more than a line --------------------------------------

-- x^0 has gradient 0 also where x is 0 or nan; the mask is on y, so that the
-- second derivatives are right as well.
local function pow_base(g, r)
  local x, y = r.x, r.y
  if not core.is_tensor(y) then
    return y == 0 and zeros_like(g) or g * (map("pow", x, y - 1) * y)
  end
  local flat = y:eq(0) & ~map("abs", x):gt(0)
  return g * (y * map("pow", x, where(flat, 1, y) - 1))
end

local function pow_exponent(g, r)
  local x, y = r.x, r.y
  if not core.is_tensor(x) then
    if x ~= 0 then return g * (r.out * math.log(x)) end
    return where(y:ge(0), 0, g * (r.out * -math.huge))
  end
  local none = y:ge(0) & x:eq(0)
  return g * (r.out * map("log", where(none, 1, x)))
end

-- All of the gradient for the larger, half of it for each of two equals.
local function larger(g, a, b)
  return where(map("lt", a, b), 0, where(map("eq", a, b), g * 0.5, g))
end

-- Equal extremes share; where one is nan, the nans do.
local function extreme(g, r)
  local mask = r.x:eq(kept(r.out, r)) | r.x:isnan()
  local count = g.dtype == "f64" and "f64" or "f32" -- of halves, too
  local n = fold("sum", mask:cast(count), r.axes, true)
  return where(mask, kept(g, r) / n, 0)
end

-- x moved by d places along its last axis, of extent n; `fill` (1) comes in.
local function shift(x, d, n, fill)
  local ranges, before, after = {}, {}, {}
  for i, extent in ipairs(shape_of(x)) do
    ranges[i], before[i], after[i] = { 0, extent, 1 }, 0, 0
  end
  local last, size = #ranges, math.abs(d)
  ranges[last] = { d < 0 and size or 0, n - size, 1 }
  if d > 0 then before[last] = size else after[last] = size end
  return core.pad0(core.slice0(x, ranges), before, after, fill or 1)
end

-- The product of all elements before each one (sign 1) or after it (-1).
local function products(x, n, sign)
  local p, d = shift(x, sign, n), 1
  while d < n do
    p, d = p * shift(p, sign * d, n), d * 2
  end
  return p
end

-- The product of the other elements, found without dividing by this one.
local function prod(g, r)
  local s = input_shape(r, 1)
  local order = order_last(#s, r.axes)
  local moved = pick(s, order)
  local n = product(moved, #s - #r.axes + 1)
  if product(s) == 0 then return zeros_like(r.x) end
  local x = r.x:permute(order):reshape({ product(s) // n, n })
  local others = products(x, n, 1) * products(x, n, -1)
  return kept(g, r) * others:reshape(moved):permute(inverse(order))
end

-- x from its end to its start along an axis.
local function flipped(x, axis)
  local ranges = {}
  for i, n in ipairs(shape_of(x)) do ranges[i] = { 0, n, 1 } end
  local n = ranges[axis][2]
  ranges[axis] = { n - 1, n, -1 }
  return core.slice0(x, ranges)
end

local function uncumsum(g, r)
  if core.count(g) == 0 then return g end
  return flipped(core.scan("cumsum", flipped(g, r.axis), r.axis), r.axis)
end

-- The gradient of x[j] is the product of the elements before j, times
-- s[j] = g[j] + x[j+1] s[j+1]; this recurrence is solved by doubling, without
-- a division by x.
local function uncumprod(g, r)
  local s = shape_of(g)
  if core.count(g) == 0 then return g end
  local order = order_last(#s, { r.axis })
  local n, d = s[r.axis], 1
  local sum, x = g:permute(order), r.x:permute(order)
  local step = shift(x, -1, n)
  while d < n do
    sum = sum + step * shift(sum, -d, n, 0)
    step, d = step * shift(step, -d, n), d * 2
  end
  return (sum * shift(r.out:permute(order), 1, n)):permute(inverse(order))
end

-- Every element goes back to where it came from.
local function unsort(g, r)
  local at = core.argsort0(r.x, r.axis, r.descending)
  return core.scatter_add0(zeros_of(shape_of(g), g), at, g, r.axis)
end

local function ungather(g, r)
  return core.scatter_add0(zeros_of(input_shape(r, 1), g), r.y, g, r.axis)
end

-- A matmul is a dot of two expanded operands. This rule answers for the expand
-- as well and names the small tensor as the one that the gradient is of.
local function dot(g, r, k)
  local wide, others = r.from[k], r.from[3 - k]
  local other = others and others[1] or (k == 1 and r.y or r.x)
  local d = wide and core.dot_back(g, r[k], r.axes, other, wide[1])
  if d then return d, wide.id end
  return kept(g, r) * (k == 1 and r.y or r.x)
end

local function unexpand(g, r) return core.unexpand(g, r[1]) end

-- Padding suits whole ranges; others are written into zeros.
local function unslice(g, r)
  local s, before, after = input_shape(r, 1), {}, {}
  for i, range in ipairs(r.ranges) do
    local start, count, step = range[1], range[2], range[3]
    if step ~= 1 then
      return core.set0(zeros_of(s, g), r.ranges, g)
    end
    before[i], after[i] = start, s[i] - start - count
  end
  return core.pad0(g, before, after, 0)
end

local function unpad(g, r)
  local ranges = {}
  for i, n in ipairs(input_shape(r, 1)) do
    ranges[i] = { r.before[i], n, 1 }
  end
  return core.slice0(g, ranges)
end

-- Where each part begins; counted once, as there may be thousands of parts.
local function starts_of(r)
  local starts, start = {}, 0
  for i, part in ipairs(r) do
    starts[i] = start
    start = start + part.shape[r.axis]
  end
  return starts
end

local function uncat(g, r, k)
  local ranges = {}
  r.starts = r.starts or starts_of(r)
  for i, n in ipairs(input_shape(r, k)) do ranges[i] = { 0, n, 1 } end
  ranges[r.axis][1] = r.starts[k]
  return core.slice0(g, ranges)
end

-- Positions may have any rank; here they are put in a row.
local function untake(g, r)
  local s = input_shape(r, 1)
  local x, n = zeros_of(s, g), core.count(r.y)
  s[r.axis] = n
  return core.index_add(x, r.y:reshape({ n }), g:reshape(s), r.axis)
end

-- The functions of custom_grad, by the id of their result; kept while a tape is
-- open, which keeps the results.
local customs = core.customs()

local function custom(g, r, k)
  r.grads = r.grads or customs[r.out_id](g)
  local of_input = r.grads[k - 1]
  return of_input and of_input() or nil
end

-- ---- put at positions ------------------------------------------------------

-- The positions of r in a row, and a function that takes there along r's axis,
-- in the shape of the values.
local function positions(r)
  local at, s = r.y:reshape({ core.count(r.y) }), input_shape(r, 3)
  return at, function(t) return core.take0(t, at, r.axis):reshape(s) end
end

-- Values of r as they go to its positions in a row.
local function in_row(t, at, r)
  local s = input_shape(r, 1)
  s[r.axis] = core.count(at)
  return t:reshape(s)
end

local function unset_value(g, r)
  local at, there = positions(r)
  local n, s, line = core.count(at), input_shape(r, 1), {}
  for i = 1, #s do line[i] = 1 end
  local number = arange(0, n - 1, { device = g.device })
  local none = core.full({ s[r.axis] }, -1, "i64", g.device)
  local last = core.index_put("index_set", none, at, number, 1)
  line[r.axis] = n
  local wins = core.take0(last, at, 1):eq(number):reshape(line)
  return where(wins, in_row(there(g), at, r), 0):reshape(input_shape(r, 3))
end

-- Along the last axis, of extent n, the product of the elements before each one
-- (sign 1) or after it (-1) that have the same number in `at`, which is sorted.
local function products_of_equals(x, at, n, sign)
  local function near(t, d)
    return where(shift(at, sign * d, n, -1):eq(at), shift(t, sign * d, n), 1)
  end
  local p, d = near(x, 1), 1
  while d < n do
    p, d = p * near(p, d), d * 2
  end
  return p
end

-- x there times the product of the other values of each one's place; nothing is
-- divided, so that a 0 is right in the second gradient as well.
local function unmul_value(g, r)
  local at, there = positions(r)
  local n, rank = core.count(at), #input_shape(r, 1)
  if core.count(r.z) == 0 then return zeros_like(r.z) end
  local by_place, last = core.argsort0(at, 1, false), order_last(rank, { r.axis })
  local sorted = core.take0(at, by_place, 1)
  local v = core.take0(in_row(r.z, at, r), by_place, r.axis):permute(last)
  local others = products_of_equals(v, sorted, n, 1)
    * products_of_equals(v, sorted, n, -1)
  others = core.take0(others:permute(inverse(last)),
    core.argsort0(by_place, 1, false), r.axis)
  return there(g * r.x) * others:reshape(input_shape(r, 3))
end

-- What equals the result shares its gradient.
local function put_extreme(g, r)
  local at, there = positions(r)
  local function same_as(a, b) return (a:eq(b) | a:isnan()):cast(g.dtype) end
  local mine = same_as(r.x, r.out)
  local theirs = same_as(r.z, there(r.out))
  local n = core.index_add(mine, at, in_row(theirs, at, r), r.axis)
  local share = g / n
  return where(mine:ne(0), share, 0), where(theirs:ne(0), there(share), 0)
end

local function put_extreme_x(g, r) return (put_extreme(g, r)) end
local function put_extreme_z(g, r)
  local _, d = put_extreme(g, r)
  return d
end

-- ---- the table -------------------------------------------------------------

local TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)

local rules = {
  -- elementwise, one input
  neg = { "", negated },
  abs = { "x", function(g, r) return g * r.x:sign() end },
  sign = { "", no },
  floor = { "", no },
  ceil = { "", no },
  trunc = { "", no },
  round = { "", no },
  frac = { "", same },
  sqrt = { "o", function(g, r) return g / (r.out * 2) end },
  rsqrt = { "o", function(g, r) return g * (r.out * r.out * r.out * -0.5) end },
  square = { "x", function(g, r) return g * (r.x * 2) end },
  reciprocal = { "o", function(g, r) return -(g * (r.out * r.out)) end },
  relu = { "o", function(g, r) return where(r.out:le(0), 0, g) end },
  exp = { "o", function(g, r) return g * r.out end },
  expm1 = { "o", function(g, r) return g * (r.out + 1) end },
  log = { "x", function(g, r) return g / r.x end },
  log1p = { "x", function(g, r) return g / (r.x + 1) end },
  sin = { "x", function(g, r) return g * r.x:cos() end },
  cos = { "x", function(g, r) return -(g * r.x:sin()) end },
  tanh = { "o", function(g, r) return g * (1 - r.out * r.out) end },
  sigmoid = { "o", function(g, r) return g * (r.out * (1 - r.out)) end },
  erf = { "x", function(g, r)
    return g * (map("exp", -(r.x * r.x)) * TWO_OVER_ROOT_PI)
  end },
  cast = { "", function(g, r) return g:cast(r[1].dtype) end },
  copy = { "", same },

  -- elementwise, two and three inputs
  add = { "", same, same },
  sub = { "", same, negated },
  mul = { "xy", function(g, r) return times(g, r.y) end,
    function(g, r) return times(g, r.x) end },
  div = { "yo", function(g, r) return over(g, r.y) end,
    function(g, r) return -(g * (r.out / r.y)) end },
  floordiv = { "", no, no },
  mod = { "xy", same,
    function(g, r) return -(g * map("floordiv", r.x, r.y)) end },
  fmod = { "xy", same,
    function(g, r) return -(g * map("trunc", map("div", r.x, r.y))) end },
  pow = { "xyo", pow_base, pow_exponent },
  maximum = { "xy", function(g, r) return larger(g, r.x, r.y) end,
    function(g, r) return larger(g, r.y, r.x) end },
  minimum = { "xy", function(g, r) return larger(g, r.y, r.x) end,
    function(g, r) return larger(g, r.x, r.y) end },
  copysign = { "xo",
    function(g, r) return g * (r.x:sign() * r.out:sign()) end, no },
  where = { "x", no, function(g, r) return where(r.x, g, 0) end,
    function(g, r) return where(r.x, 0, g) end },
  fma = { "xy", function(g, r) return g * r.y end,
    function(g, r) return g * r.x end, same },
  lerp = { "xyz", function(g, r) return g * (1 - r.z) end,
    function(g, r) return g * r.z end,
    function(g, r) return g * (r.y - r.x) end },
  addcmul = { "yz", same, function(g, r) return g * r.z end,
    function(g, r) return g * r.y end },
  addcdiv = { "yz", same, function(g, r) return g / r.z end,
    function(g, r) return -(g * (r.y / r.z / r.z)) end },

  -- reductions
  sum = { "", function(g, r)
    local c = core.filled(g)
    if c then return filled_like(g, input_shape(r, 1), c) end
    return core.spread(g, r[1], r.axes)
  end },
  prod = { "x", prod },
  max = { "xo", extreme },
  min = { "xo", extreme },
  dot = { "xy", each = dot },

  -- layout
  reshape = { "", function(g, r) return core.reshape_like(g, r[1]) end },
  permute = { "", function(g, r) return core.permute_back(g, r.order) end },
  expand = { "", unexpand },
  slice = { "", unslice },
  pad = { "", unpad },
  cat = { "", each = uncat },
  set = { "", function(g, r) return core.set0(g, r.ranges, 0) end,
    function(g, r) return core.slice0(g, r.ranges) end },
  detach = { "", no },
  windows = { "", function(g, r)
    return windows.unwindow(g, r.axis, r[1].shape[r.axis],
      r.window[1], r.window[2], r.window[3])
  end },
  custom = { "*", from = 2, each = custom },
  to = { "", function(g, r) return g:to(r[1].device) end },
  take = { "y", untake, no },
  index_add = { "y", same, no,
    function(g, r) return core.take0(g, r.y, r.axis) end },
  index_set = { "y", function(g, r)
    local none = zeros_of(input_shape(r, 3), g)
    return core.index_put("index_set", g, r.y, none, r.axis)
  end, no, unset_value },
  index_mul = { "xyz", function(g, r)
    return core.index_put("index_mul", g, r.y, r.z, r.axis)
  end, no, unmul_value },
  index_max = { "xyzo", put_extreme_x, no, put_extreme_z },
  index_min = { "xyzo", put_extreme_x, no, put_extreme_z },
  gather = { "y", ungather, no },
  scatter_add = { "y", same, no,
    function(g, r) return core.gather0(g, r.y, r.axis) end },

  -- order and scans
  sort = { "x", unsort },
  argsort = { "", no },
  argtopk = { "", no },
  cumsum = { "", uncumsum },
  cumprod = { "xo", uncumprod },
}

-- ---- checked against the op table ------------------------------------------

-- Ops that give numbers made of the values of float inputs.
local function is_differentiable(op)
  return op.float and op.arity > 0 and op.gives ~= "BOOL"
    and op.gives ~= "SECOND"
end

local SAVES = { o = 1, x = 2, y = 4, z = 8, ["*"] = 0xffffffff }
local LAST = 31 -- the bit of input 31 and all after it

local function saves_of(rule)
  local bits = 0
  for c in rule[1]:gmatch(".") do bits = bits | SAVES[c] end
  return bits
end

-- Bit k: input k has a gradient.
local function passes_of(rule)
  local bits = 0
  for k = 1, LAST do
    if rule.each and k >= (rule.from or 1) or rule[k + 1] then
      bits = bits | 1 << k
    end
  end
  return bits
end

local function check()
  local known = {}
  for _, op in ipairs(core.ops()) do
    local rule = rules[op.name]
    known[op.name] = true
    assert(not is_differentiable(op) or rule, op.name .. " has no gradient")
    if rule then
      core.set_rule(op.name, rule, saves_of(rule), passes_of(rule))
    end
  end
  for name in pairs(rules) do -- order-free
    assert(known[name], "a gradient for " .. name .. ", which is no op")
  end
end

check()

-- What grad.lua calls; not among the rules, which are one for each op.
return setmetatable(rules, { __index = {
  note_custom = function(id, backward) customs[id] = backward end,
} })
