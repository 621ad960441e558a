-- names: clamp nan_to_num isclose hypot stack flip layer_norm logsumexp std norm leaky_relu silu gelu softplus logaddexp outer diff
--
-- Functions that are compositions of recorded ops: they fuse, and their
-- gradients follow. Each is a method of tensors as well, x:clamp(0, 1).
local core = require "tsh.core"
local map, fold = core.map, core.fold

local inf = math.huge

local FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }
local LARGEST = { f16 = 65504.0, bf16 = 0x1.fep127,
  f32 = 0x1.fffffep127, f64 = 0x1.fffffffffffffp1023 }

local function where(c, x, y) return map("where", c, x, y) end

-- ---- arguments -------------------------------------------------------------

local function check_tensor(name, x)
  if core.is_tensor(x) then return x end
  core.fail(("%s: argument 1 must be a tensor, got %s"):format(name, type(x)))
end

local function to_float(x)
  return FLOAT[x.dtype] and x or x:cast("f32")
end

-- The options of a call, its main one also as a plain argument.
local function options(name, value, main, known)
  if value == nil then return {} end
  if type(value) ~= "table" then return { [main] = value } end
  for k in pairs(value) do -- order-free
    if not known:find("%f[%w_]" .. tostring(k) .. "%f[^%w_]") then
      core.fail(("%s: unknown option '%s'"):format(name, tostring(k)),
        "it has: " .. known)
    end
  end
  return value
end

local function positive_axis(name, x, axis)
  local rank = #x.shape
  local at = axis < 0 and axis + rank + 1 or axis
  if at >= 1 and at <= rank then return at end
  core.fail(("%s: axis %d is outside 1..%d"):format(name, axis, rank))
end

-- All axes, one or several, as an array counted from 1.
local function axes_of(name, x, axis)
  local axes = {}
  if axis == nil then
    for i = 1, #x.shape do axes[i] = i end
  elseif type(axis) == "table" then
    for i, a in ipairs(axis) do axes[i] = positive_axis(name, x, a) end
  else
    axes[1] = positive_axis(name, x, axis)
  end
  return axes
end

-- Ranges for core.slice0 that take all of x.
local function whole(x)
  local ranges = {}
  for i = 1, #x.shape do ranges[i] = { 0, x.shape[i], 1 } end
  return ranges
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
  local largest = LARGEST[x.dtype]
  if not largest then return x end
  local y = where(x:isnan(), o.nan or 0.0, x)
  y = where(x:eq(inf), o.posinf or largest, y)
  return where(x:eq(-inf), o.neginf or -largest, y)
end

--- isclose(x, y, {rtol=1e-5, atol=1e-8, equal_nan=false}): bool, true where
--- |x - y| <= atol + rtol * |y| or both are equal.
--- Example: isclose(tensor{1.0, 2.0}, tensor{1.000001, 2.1}) --> true false
local function isclose(x, y, opts)
  check_tensor("isclose", x)
  local o = options("isclose", opts, "rtol", "rtol atol equal_nan")
  if not FLOAT[x.dtype] then x = x:cast("f64") end
  if core.is_tensor(y) and not FLOAT[y.dtype] then y = y:cast("f64") end
  local size = map("abs", y * 1)
  local bound = size * (o.rtol or 1e-5) + (o.atol or 1e-8)
  local close = map("abs", x - y):le(bound) & size:lt(inf) | map("eq", x, y)
  if not o.equal_nan then return close end
  return close | x:isnan() & map("isnan", y * 1)
end

--- hypot(x, y): sqrt(x^2 + y^2) without overflow on the way; the gradient at
--- (0, 0) is 0.
--- Example: hypot(tensor{3.0}, tensor{4.0}) --> 5
local function hypot(x, y)
  local a, b = map("abs", x), map("abs", y)
  local large, small = map("maximum", a, b), map("minimum", a, b)
  local usual = large:gt(0) & large:lt(inf)
  local safe = where(usual, large, 1)
  local ratio = small / safe
  local length = where(usual, safe * map("sqrt", ratio * ratio + 1), large)
  return where(map("eq", a, inf), a, where(map("eq", b, inf), b, length))
end

--- leaky_relu(x, slope): x where x > 0, else x * slope (default 0.01).
--- Example: leaky_relu(tensor{-1.0, 2.0}) --> -0.01 2
local function leaky_relu(x, slope)
  check_tensor("leaky_relu", x)
  local o = options("leaky_relu", slope, "slope", "slope")
  return where(x:gt(0), x, x * (o.slope or 0.01))
end

--- silu(x): x * sigmoid(x), also known as swish.
--- Example: silu(tensor{1.0}) --> 0.73106
local function silu(x)
  return check_tensor("silu", x) * map("sigmoid", x)
end

--- gelu(x): x times the normal distribution function at x, by erf.
--- Example: gelu(tensor{1.0}) --> 0.84134
local function gelu(x)
  check_tensor("gelu", x)
  return x * ((map("erf", x * math.sqrt(0.5)) + 1) * 0.5)
end

--- softplus(x): log(1 + e^x); beyond 40, where both are the same, x itself.
--- Example: softplus(tensor{0.0}) --> 0.69315
local function softplus(x)
  x = to_float(check_tensor("softplus", x))
  local large = x:gt(40)
  return where(large, x, map("log1p", map("exp", where(large, 0, x))))
end

-- A bound for exponents: m, or 0 where m is not finite, constant for gradients.
local function finite(m)
  return where(m:isfinite(), m, 0):detach()
end

--- logaddexp(x, y): log(e^x + e^y) without overflow.
--- Example: logaddexp(tensor{1000.0}, tensor{1000.0}) --> 1000.7
local function logaddexp(x, y)
  local m = finite(to_float(map("maximum", x, y)))
  return map("log", map("exp", x - m) + map("exp", y - m)) + m
end

-- ---- reductions ------------------------------------------------------------

--- logsumexp(x, axis) or logsumexp(x, {axis=, keep=}): log of the sum of e^x
--- over one or several axes (all by default), without overflow; -inf over no
--- element.
--- Example: logsumexp(tensor{1000.0, 1000.0}) --> 1000.7
local function logsumexp(x, opts)
  x = to_float(check_tensor("logsumexp", x))
  local o = options("logsumexp", opts, "axis", "axis keep")
  local axes = axes_of("logsumexp", x, o.axis)
  if core.count(x) == 0 then
    return map("log", fold("sum", map("exp", x), axes, o.keep))
  end
  local m = finite(fold("max", x, axes, true))
  local s = fold("sum", map("exp", x - m), axes, true)
  local y = map("log", s) + m
  return o.keep and y or fold("sum", y, axes, false)
end

--- std(x, axis) or std(x, {axis=, keep=, correction=1}): standard deviation;
--- its gradient is 0 where it is 0.
--- Example: std(tensor{1.0, 3.0}) --> 1.4142
local function std(x, opts)
  check_tensor("std", x)
  local o = options("std", opts, "axis", "axis keep correction")
  return safe_sqrt(x:var({ axis = o.axis, keep = o.keep,
    correction = o.correction }))
end

--- norm(x, p) or norm(x, {p=2, axis=, keep=}): the p-norm, p a number above 0
--- or math.huge; over all elements by default. The gradient at 0 is 0.
--- Example: norm(tensor{3.0, 4.0}) --> 5
local function norm(x, opts)
  x = to_float(check_tensor("norm", x))
  local o = options("norm", opts, "p", "p axis keep")
  local axes, p = axes_of("norm", x, o.axis), o.p or 2
  if p == 2 then return safe_sqrt(fold("sum", x:square(), axes, o.keep)) end
  local size = map("abs", x)
  if p == 1 then return fold("sum", size, axes, o.keep) end
  if p == inf then return fold("max", size, axes, o.keep) end
  if type(p) ~= "number" or not (p > 0) then
    core.fail("norm: p must be above 0, got " .. tostring(p))
  end
  local s = fold("sum", map("pow", size, p), axes, o.keep)
  local zero = s:eq(0)
  return where(zero, 0, map("pow", where(zero, 1, s), 1 / p))
end

--- layer_norm(x, weight, bias, {eps=1e-5}): x with mean 0 and variance 1 along
--- its last axis, times weight, plus bias (both [n] or nil).
--- Example: layer_norm(tensor{{1.0, 3.0}}) --> -1 1
local function layer_norm(x, weight, bias, opts)
  x = to_float(check_tensor("layer_norm", x))
  local o = options("layer_norm", opts, "eps", "eps")
  local last = { axis = -1, keep = true, correction = 0 }
  local mean = x:mean({ axis = -1, keep = true })
  local y = (x - mean) * map("rsqrt", x:var(last) + (o.eps or 1e-5))
  if weight then y = y * weight end
  return bias and y + bias or y
end

-- ---- layout ----------------------------------------------------------------

local function positive_new_axis(name, rank, axis)
  local at = axis < 0 and axis + rank + 1 or axis
  if at >= 1 and at <= rank then return at end
  core.fail(("%s: axis %d is outside 1..%d"):format(name, axis, rank))
end

--- stack(list, axis) or stack(list, {axis=1}): tensors of one shape joined
--- along a new axis.
--- Example: stack{tensor{1, 2}, tensor{3, 4}} --> i64[2,2]
local function stack(list, opts)
  if type(list) ~= "table" or #list == 0 then
    core.fail("stack: argument 1 must be a list of tensors")
  end
  local o = options("stack", opts, "axis", "axis")
  local rank = #check_tensor("stack", list[1]).shape + 1
  local axis, parts = positive_new_axis("stack", rank, o.axis or 1), {}
  for i, x in ipairs(list) do
    if check_tensor("stack", x).shape ~= list[1].shape then
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
local function flip(x, opts)
  check_tensor("flip", x)
  local o = options("flip", opts, "axis", "axis")
  local ranges = whole(x)
  for _, axis in ipairs(axes_of("flip", x, o.axis)) do
    local n = x.shape[axis]
    ranges[axis] = { math.max(n - 1, 0), n, -1 }
  end
  return core.slice0(x, ranges)
end

--- outer(x, y): every element of x times every element of y, [count(x),
--- count(y)].
--- Example: outer(tensor{1, 2}, tensor{3, 4}) --> 3 4 / 6 8
local function outer(x, y)
  local n, m = core.count(check_tensor("outer", x)), core.count(y)
  return x:reshape({ n, 1 }) * y:reshape({ 1, m })
end

--- diff(x, n) or diff(x, {n=1, axis=-1}): differences of neighbours along an
--- axis, taken n times.
--- Example: diff(tensor{1, 4, 9}) --> 3 5
local function diff(x, opts)
  check_tensor("diff", x)
  local o = options("diff", opts, "n", "n axis")
  local axis = positive_axis("diff", x, o.axis or -1)
  for _ = 1, o.n or 1 do
    local upper, lower, n = whole(x), whole(x), x.shape[axis]
    upper[axis] = { math.min(1, n), math.max(n - 1, 0), 1 }
    lower[axis] = { 0, math.max(n - 1, 0), 1 }
    x = core.slice0(x, upper) - core.slice0(x, lower)
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
