-- names: clamp nan_to_num isclose hypot stack flip layer_norm logsumexp std norm leaky_relu silu gelu softplus logaddexp outer diff
-- methods: clamp nan_to_num isclose hypot stack flip layer_norm logsumexp std norm leaky_relu silu gelu softplus logaddexp outer diff
--
-- Functions that are compositions of recorded ops: they fuse, and their
-- gradients follow. Each is a method of tensors as well, x:clamp(0, 1).
local core = require "tsh.core"
local half = require "tsh.half"
local custom_grad = require("tsh.grad").custom_grad
local map, fold = core.map, core.fold

local args = require "tsh.args"
local check_tensor, check_operand = args.check_tensor, args.check_operand
local options, number_option = args.options, args.number_option
local whole_number, axis_below = args.whole_number, args.axis_below
local positive_axis, axes_of, whole = args.axis_of, args.axes_of, args.whole
local FLOAT, to_float = args.FLOAT, args.to_float

local inf = math.huge

local LARGEST = { f16 = 65504.0, bf16 = 0x1.fep127,
  f32 = 0x1.fffffep127, f64 = 0x1.fffffffffffffp1023 }

local function where(c, x, y) return map("where", c, x, y) end

-- ---- arguments -------------------------------------------------------------

-- Two of them, at least one a tensor.
local function check_pair(name, x, y)
  if not (core.is_tensor(x) or core.is_tensor(y)) then check_tensor(name, x) end
  check_operand(name, x, 1)
  check_operand(name, y, 2)
end

-- A number in the shape and the float dtype of y; a tensor as it is.
local function spread(x, y)
  if core.is_tensor(x) then return x end
  if type(x) == "boolean" then x = x and 1 or 0 end
  return core.full(y.shape, x, FLOAT[y.dtype] and y.dtype or "f32", y.device)
end

-- A square root with gradient 0, not infinite, where x is 0.
local function safe_sqrt(x)
  local zero = x:eq(0)
  return where(zero, 0, map("sqrt", where(zero, 1, x)))
end

-- ---- elementwise -----------------------------------------------------------

--- clamp(x, lo, hi) or clamp(x, {min=, max=}): x, below lo replaced by lo, then
--- above hi by hi; nan stays nan, also that of a bound. Bounds are numbers or
--- tensors; one may be nil. The gradient at a bound is 1.
--- Example: clamp(tensor{-2.0, 0.5, 9.0}, 0, 1) --> 0 0.5 1
local function clamp(x, lo, hi)
  check_tensor("clamp", x)
  if type(lo) == "table" then
    local o = options("clamp", lo, "min", "min max")
    lo, hi = o.min, o.max
  end
  if lo ~= nil then check_operand("clamp", lo, 2) end
  if hi ~= nil then check_operand("clamp", hi, 3) end
  args.check_literal("clamp", lo, x.dtype)
  args.check_literal("clamp", hi, x.dtype)
  if lo ~= nil then x = where(map("ge", x, lo) | x:isnan(), x, lo) end
  if hi ~= nil then x = where(map("le", x, hi) | x:isnan(), x, hi) end
  return x
end

--- nan_to_num(x, {nan=0, posinf=, neginf=}): x with nan and the infinities
--- replaced, these by the largest and lowest number of x's dtype by default.
--- Example: nan_to_num(tensor{0/0, 1.0}) --> 0 1
local function nan_to_num(x, opts)
  check_tensor("nan_to_num", x)
  local o = options("nan_to_num", opts, "nan", "nan posinf neginf")
  local largest = LARGEST[x.dtype] or 0
  local of_nan = number_option("nan_to_num", o, "nan", 0.0)
  local above = number_option("nan_to_num", o, "posinf", largest)
  local below = number_option("nan_to_num", o, "neginf", -largest)
  if not LARGEST[x.dtype] then return x end
  local y = where(x:isnan(), of_nan, x)
  y = where(x:eq(inf), above, y)
  return where(x:eq(-inf), below, y)
end

--- isclose(x, y, {rtol=1e-5, atol=1e-8, equal_nan=false}): bool, true where
--- |x - y| <= atol + rtol * |y| or both are equal.
--- Example: isclose(tensor{1.0, 2.0}, tensor{1.000001, 2.1}) --> true false
local function isclose(x, y, opts)
  check_tensor("isclose", x)
  check_operand("isclose", y, 2)
  local o = options("isclose", opts, "rtol", "rtol atol equal_nan")
  local rtol = number_option("isclose", o, "rtol", 1e-5)
  local atol = number_option("isclose", o, "atol", 1e-8)
  x = FLOAT[x.dtype] and half.wide(x) or x:cast(args.wide(x.device))
  y = spread(y, x)
  y = FLOAT[y.dtype] and half.wide(y) or y:cast(args.wide(y.device))
  local size = map("abs", y)
  local bound = size * rtol + atol
  local close = map("abs", x - y):le(bound) & size:lt(inf) | map("eq", x, y)
  if not o.equal_nan then return close end
  return close | x:isnan() & y:isnan()
end

-- The larger of both is divided by, so no square overflows.
local function length_of(x, y)
  local a, b = map("abs", x), map("abs", y)
  local large, small = map("maximum", a, b), map("minimum", a, b)
  local usual = large:gt(0) & large:lt(inf)
  local safe = where(usual, large, 1)
  local ratio = small / safe
  local length = where(usual, safe * map("sqrt", ratio * ratio + 1), large)
  return where(map("eq", a, inf), a, where(map("eq", b, inf), b, length))
end

-- How the length grows with x: 0 where it is 0, and 1 at infinity.
local function slope_of(x, length)
  local zero = length:eq(0)
  return where(x:isinf(), x:sign(),
    where(zero, 0, x / where(zero, 1, length)))
end

-- The steps above have kinks where an operand is 0 or both are as large; the
-- function has none there, and its second gradient may not either.
local length_with_slopes = custom_grad(length_of, function(g, x, y, length)
  return function() return g * slope_of(x, length) end,
    function() return g * slope_of(y, length) end
end)

--- hypot(x, y): sqrt(x^2 + y^2) without overflow on the way; the gradient at
--- (0, 0) is 0.
--- Example: hypot(tensor{3.0}, tensor{4.0}) --> 5
local function hypot(x, y)
  check_pair("hypot", x, y)
  local u, v = to_float(spread(x, y)), to_float(spread(y, x))
  local s = args.broadcast("hypot", args.sizes(u), args.sizes(v))
  local length = length_with_slopes(half.wide(u):expand(s),
    half.wide(v):expand(s))
  return half.back(length, u, v)
end

--- leaky_relu(x, slope): x where x > 0, else x * slope (default 0.01).
--- Example: leaky_relu(tensor{-1.0, 2.0}) --> -0.01 2
local function leaky_relu(x, slope)
  check_tensor("leaky_relu", x)
  local o = options("leaky_relu", slope, "slope", "slope")
  local at = o.slope == nil and 0.01 or check_operand("leaky_relu", o.slope, 2)
  return where(x:gt(0), x, x * at)
end

--- silu(x): x * sigmoid(x), also known as swish.
--- Example: silu(tensor{1.0}) --> 0.73106
local function silu(x)
  local wide = half.wide(check_tensor("silu", x))
  return half.back(wide * map("sigmoid", wide), x)
end

--- gelu(x): x times the normal distribution function at x, by erf.
--- Example: gelu(tensor{1.0}) --> 0.84134
local function gelu(x)
  local wide = half.wide(check_tensor("gelu", x))
  return half.back(wide * ((map("erf", wide * math.sqrt(0.5)) + 1) * 0.5), x)
end

--- softplus(x): log(1 + e^x); beyond 40, where both are the same, x itself.
--- Example: softplus(tensor{0.0}) --> 0.69315
local function softplus(x)
  local wide = half.wide(to_float(check_tensor("softplus", x)))
  local large = wide:gt(40)
  return half.back(where(large, wide,
    map("log1p", map("exp", where(large, 0, wide)))), x)
end

-- A bound for exponents: m, or 0 where m is not finite, constant for gradients.
local function finite(m)
  return where(m:isfinite(), m, 0):detach()
end

-- Where one operand is infinite, the gradient is all of the larger one.
local log_of_sum = custom_grad(function(x, y)
  local m = finite(to_float(map("maximum", x, y)))
  return map("log", map("exp", x - m) + map("exp", y - m)) + m
end, function(g, x, y)
  return function() return g * map("sigmoid", x - y) end,
    function() return g * map("sigmoid", y - x) end
end)

--- logaddexp(x, y): log(e^x + e^y) without overflow.
--- Example: logaddexp(tensor{1000.0}, tensor{1000.0}) --> 1000.7
local function logaddexp(x, y)
  check_pair("logaddexp", x, y)
  local u, v = spread(x, y), spread(y, x)
  local s = args.broadcast("logaddexp", args.sizes(u), args.sizes(v))
  return half.back(log_of_sum(half.wide(u):expand(s), half.wide(v):expand(s)),
    u, v)
end

-- ---- reductions ------------------------------------------------------------

--- logsumexp(x, axis) or logsumexp(x, {axis=, keep=}): log of the sum of e^x
--- over one or several axes (all by default), without overflow; -inf over no
--- element and over -inf alone, with gradient 0 there.
--- Example: logsumexp(tensor{1000.0, 1000.0}) --> 1000.7
local function logsumexp(x, axis, opts)
  local given = to_float(check_tensor("logsumexp", x))
  x = half.wide(given)
  local o = options("logsumexp", axis, "axis", "axis keep", opts, true)
  local axes = axes_of("logsumexp", x, o.axis)
  if core.count(x) == 0 then
    return half.back(map("log", fold("sum", map("exp", x), axes, o.keep)),
      given)
  end
  local m = finite(fold("max", x, axes, true))
  local s = fold("sum", map("exp", x - m), axes, true)
  local none = s:eq(0)
  local y = where(none, -inf, map("log", where(none, 1, s)) + m)
  return half.back(o.keep and y or fold("sum", y, axes, false), given)
end

--- std(x, axis) or std(x, {axis=, keep=, correction=1}): standard deviation;
--- its gradient is 0 where it is 0.
--- Example: std(tensor{1.0, 3.0}) --> 1.4142
local function std(x, axis, opts)
  check_tensor("std", x)
  local o = options("std", axis, "axis", "axis keep correction", opts, true)
  local axes = o.axis ~= nil and axes_of("std", x, o.axis) or nil
  local v = half.wide(x):var({ axis = axes, keep = o.keep,
    correction = number_option("std", o, "correction") })
  return half.back(safe_sqrt(v), x)
end

-- The p-norm of sizes over axes where p is none of the special numbers.
local function power_norm(size, p, axes, keep)
  if p < 0 then
    -- A 0 makes it 0, and so its gradient.
    local none = fold("any", size:eq(0), axes, true)
    local s = fold("sum", map("pow", where(none, 1, size), p), axes, true)
    local y = where(none, 0, map("pow", s, 1 / p))
    return keep and y or fold("sum", y, axes, false)
  end
  local s = fold("sum", map("pow", size, p), axes, keep)
  local zero = s:eq(0)
  return where(zero, 0, map("pow", where(zero, 1, s), 1 / p))
end

-- The p-norm of a float tensor that is no half.
local function norm_of(x, p, axes, keep)
  if p == 2 then return safe_sqrt(fold("sum", x:square(), axes, keep)) end
  if p == 0 then return fold("sum", x:ne(0):cast(x.dtype), axes, keep) end
  local size = map("abs", x)
  if p == 1 then return fold("sum", size, axes, keep) end
  if p == inf then return fold("max", size, axes, keep) end
  if p == -inf then return fold("min", size, axes, keep) end
  return power_norm(size, p, axes, keep)
end

--- norm(x, p) or norm(x, {p=2, axis=, keep=}): the p-norm: p = 0 counts what is
--- not 0, math.huge and -math.huge give the largest and the smallest size; over
--- all elements by default. The gradient at 0 is 0.
--- Example: norm(tensor{3.0, 4.0}) --> 5
local function norm(x, p, opts)
  x = to_float(check_tensor("norm", x))
  local o = options("norm", p, "p", "p axis keep", opts)
  p = number_option("norm", o, "p", 2)
  if p ~= p then core.fail("norm: p cannot be nan") end
  local axes = axes_of("norm", x, o.axis)
  return half.back(norm_of(half.wide(x), p, axes, o.keep), x)
end

--- layer_norm(x, weight, bias, {eps=1e-5}): x with mean 0 and variance 1 along
--- its last axis, times weight, plus bias (both [n] or nil).
--- Example: layer_norm(tensor{{1.0, 3.0}}) --> -1 1
local function layer_norm(x, weight, bias, opts)
  local given = to_float(check_tensor("layer_norm", x))
  x = half.wide(given)
  local o = options("layer_norm", opts, "eps", "eps")
  local eps = number_option("layer_norm", o, "eps", 1e-5)
  positive_axis("layer_norm", x, -1)
  if weight ~= nil then check_operand("layer_norm", weight, 2) end
  if bias ~= nil then check_operand("layer_norm", bias, 3) end
  local last = { axis = -1, keep = true, correction = 0 }
  local mean = x:mean({ axis = -1, keep = true })
  local y = (x - mean) * map("rsqrt", x:var(last) + eps)
  if weight then y = y * half.wide(weight) end
  if bias then y = y + half.wide(bias) end
  return half.back(y, given, weight, bias)
end

-- ---- layout ----------------------------------------------------------------

--- stack(list, axis) or stack(list, {axis=1}): tensors of one shape joined
--- along a new axis.
--- Example: stack{tensor{1, 2}, tensor{3, 4}} --> i64[2,2]
local function stack(list, opts)
  args.check_list("stack", list)
  if #list > 65535 then
    core.fail(("stack: %d tensors, at most 65535 can be joined"):format(#list))
  end
  local o = options("stack", opts, "axis", "axis")
  local rank = #list[1].shape + 1
  local axis, parts = axis_below("stack", rank, o.axis or 1), {}
  for i, x in ipairs(list) do
    if x.shape ~= list[1].shape then
      core.fail(("stack: tensor 1 is %s, tensor %d is %s"):format(
        tostring(list[1].shape), i, tostring(x.shape)))
    end
    parts[i] = x:unsqueeze(axis)
  end
  return cat(parts, axis)
end

--- flip(x, axis) or flip(x, {axis=}): the order of the elements along one or
--- several axes (all by default) turned round.
--- Example: flip(tensor{1, 2, 3}) --> 3 2 1
local function flip(x, axis, opts)
  check_tensor("flip", x)
  local o = options("flip", axis, "axis", "axis", opts, true)
  local ranges = whole(x)
  for _, at in ipairs(axes_of("flip", x, o.axis)) do
    local n = x.shape[at]
    ranges[at] = { math.max(n - 1, 0), n, -1 }
  end
  return core.slice0(x, ranges)
end

--- outer(x, y): every element of x times every element of y, [count(x),
--- count(y)].
--- Example: outer(tensor{1, 2}, tensor{3, 4}) --> 3 4 / 6 8
local function outer(x, y)
  local n = core.count(check_tensor("outer", x))
  local m = core.count(check_tensor("outer", y, 2))
  return x:reshape({ n, 1 }) * y:reshape({ 1, m })
end

--- diff(x, n) or diff(x, {n=1, axis=-1}): differences of neighbours along an
--- axis, taken n times.
--- Example: diff(tensor{1, 4, 9}) --> 3 5
local function diff(x, n, opts)
  check_tensor("diff", x)
  local o = options("diff", n, "n", "n axis", opts)
  local axis = positive_axis("diff", x, o.axis or -1)
  local times = o.n == nil and 1 or whole_number("diff", "n", o.n)
  if times < 0 then
    core.fail(("diff: n must be from 0, got %d"):format(times))
  end
  -- Then no element is left, and none comes back.
  for _ = 1, math.min(times, x.shape[axis]) do
    local size = x.shape[axis]
    local left = math.max(size - 1, 0)
    x = args.part(x, axis, math.min(1, size), left)
      - args.part(x, axis, 0, left)
  end
  return x
end

return {
  clamp = clamp,
  nan_to_num = nan_to_num,
  isclose = isclose,
  hypot = hypot,
  stack = stack,
  flip = flip,
  layer_norm = layer_norm,
  logsumexp = logsumexp,
  std = std,
  norm = norm,
  leaky_relu = leaky_relu,
  silu = silu,
  gelu = gelu,
  softplus = softplus,
  logaddexp = logaddexp,
  outer = outer,
  diff = diff,
}
