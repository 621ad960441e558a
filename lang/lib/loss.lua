-- names: cross_entropy nll bce bce_with_logits mse l1 huber smooth_l1 kl_div cosine_similarity
--
-- Losses: functions of what a network gives and what it should give. All have
-- reduction="mean", "sum" or "none".
local core = require "tsh.core"
local checks = require "tsh.checks"
local half = require "tsh.half"
local map = core.map

local function where(c, x, y) return map("where", c, x, y) end

-- ---- shared ----------------------------------------------------------------

local function reduction(name, o, more)
  local r = o.reduction or "mean"
  if r == "mean" or r == "sum" or r == "none" or r == more then return r end
  core.fail(("%s: reduction is \"mean\", \"sum\" or \"none\"%s, got %s"):format(
    name, more and (" or \"%s\""):format(more) or "",
    type(r) == "string" and '"' .. r .. '"' or core.kind(r)))
end

local function reduced(loss, how)
  if how == "none" then return loss end
  return how == "sum" and loss:sum() or loss:mean()
end

-- Two tensors of one shape, as floats.
local function pair(name, x, y)
  if not (core.is_tensor(x) and core.is_tensor(y)) then
    core.fail(("%s: two tensors are needed, got %s and %s"):format(name,
      core.kind(x), core.kind(y)))
  end
  if x.shape ~= y.shape then
    core.fail(("%s: shapes differ: %s and %s"):format(name, tostring(x.shape),
      tostring(y.shape)))
  end
  return checks.is_float(x) and x or x:cast("f32"),
    checks.is_float(y) and y or y:cast(checks.is_float(x) and x.dtype or "f32")
end

-- ---- classes ---------------------------------------------------------------

-- Labels are integers of the shape of x without its last axis.
local function check_labels(name, x, labels)
  if not checks.is_integer(labels) then
    core.fail(("%s: labels must be integers, got %s"):format(name,
      labels.dtype), 'labels:cast("i64")')
  end
  local rank = #labels.shape
  local fits = #x.shape == rank + 1
  for i = 1, rank do fits = fits and x.shape[i] == labels.shape[i] end
  if fits then return end
  core.fail(("%s: logits %s need labels of the same shape without the last "
    .. "axis, got %s"):format(name, tostring(x.shape), tostring(labels.shape)))
end

local function check_weight(name, o, classes)
  local w = o.weight
  if w == nil then return nil end
  if core.is_tensor(w) and #w.shape == 1 and w.shape[1] == classes then
    return half.wide(w)
  end
  core.fail(("%s: weight must be a tensor [%d], got %s"):format(name, classes,
    core.is_tensor(w) and tostring(w.shape) or core.kind(w)))
end

local function check_class_options(name, x, o)
  if o.ignore ~= nil then checks.whole(name, "ignore", o.ignore, math.mininteger) end
  return { how = reduction(name, o), ignore = o.ignore,
    weight = check_weight(name, o, x.shape[#x.shape]),
    smoothing = checks.within(name, o, "smoothing", 0, 0, 1) }
end

-- The sum of x over its last axis at the classes that are hot.
local function at_class(hot, x) return where(hot, x, 0):sum({ axis = -1 }) end

-- -log p of the classes, each times its weight, before it is reduced; and
-- what a mean divides by (nil: how many there are). One-hot rows are no memory:
-- they are computed where they are used.
local function label_loss(log_p, labels, c)
  local classes, keep = log_p.shape[#log_p.shape], nil
  if c.ignore then
    keep = labels:ne(c.ignore)
    labels = where(keep, labels, 1)
  end
  -- Counting from the end has no meaning for labels.
  local hot = one_hot(where(labels:lt(0), 0, labels), classes, "bool")
  local w = c.weight and at_class(hot, c.weight)
  local loss = -at_class(hot, log_p)
  if w then loss = loss * w end
  if c.smoothing > 0 then
    local every = c.weight and log_p * c.weight or log_p
    loss = loss * (1 - c.smoothing)
      - every:sum({ axis = -1 }) * (c.smoothing / classes)
  end
  if keep then
    loss = where(keep, loss, 0)
    w = where(keep, w or 1, 0)
  end
  return loss, w and w:sum()
end

local function soft_loss(log_p, y, c)
  local classes = log_p.shape[#log_p.shape]
  if c.smoothing > 0 then
    y = y * (1 - c.smoothing) + c.smoothing / classes
  end
  if c.weight then y = y * c.weight end
  -- A class of probability 0 costs nothing, also where log_p is -inf.
  local none = y:eq(0) & log_p:eq(-math.huge)
  return -(where(none, 0, log_p) * y):sum({ axis = -1 })
end

local function finish(loss, n, how)
  if how == "none" then return loss end
  if how == "mean" and n then return loss:sum() / n:cast(loss.dtype) end
  return reduced(loss, how)
end

local function check_two(name, x, y, what)
  if core.is_tensor(x) and core.is_tensor(y) and #x.shape > 0 then return end
  core.fail(("%s: two tensors are needed, %s and labels"):format(name, what))
end

--- cross_entropy(logits, labels, {reduction="mean", weight=, ignore=,
--- smoothing=0}): -log softmax(logits) at the labels. logits [.., C] are any
--- floats; labels [..] integers 1..C, or probabilities [.., C]. weight [C] is a
--- weight for each class, by whose sum over the labels a mean then divides;
--- labels equal to ignore do not count; smoothing is the share of each label
--- that is spread over all classes. Errors: labels that are floats, outside
--- 1..C (data that counts from 0: y + 1), or not as many as rows.
--- Example: cross_entropy(tensor{{0.0, 0.0}}, tensor{1}) --> 0.69315
local function cross_entropy(logits, labels, options)
  local name = "cross_entropy"
  check_two(name, logits, labels, "logits")
  local o = checks.options(name, options, "reduction weight ignore smoothing")
  local c = check_class_options(name, logits, o)
  if not checks.is_float(logits) then logits = logits:cast("f32") end
  local log_p = logits:log_softmax({ axis = -1 })
  if checks.is_float(labels) and labels.shape == logits.shape then
    if c.ignore then
      core.fail("cross_entropy: ignore names a label; these are probabilities")
    end
    return reduced(soft_loss(log_p, labels, c), c.how)
  end
  check_labels(name, logits, labels)
  local loss, n = label_loss(log_p, labels, c)
  return finish(loss, n, c.how)
end

--- nll(log_p, labels, {reduction="mean", weight=, ignore=}): -log_p at the
--- labels: cross_entropy of what log_softmax gave already. log_p [.., C],
--- labels [..] integers 1..C.
--- Example: nll(log_softmax(tensor{{0.0, 0.0}}, 2), tensor{1}) --> 0.69315
local function nll(log_p, labels, options)
  check_two("nll", log_p, labels, "log_p")
  local o = checks.options("nll", options, "reduction weight ignore")
  local c = check_class_options("nll", log_p, o)
  check_labels("nll", log_p, labels)
  if not checks.is_float(log_p) then log_p = log_p:cast("f32") end
  local loss, n = label_loss(log_p, labels, c)
  return finish(loss, n, c.how)
end

-- ---- yes or no -------------------------------------------------------------

local function weighted(name, loss, o)
  if o.weight == nil then return loss end
  if core.is_tensor(o.weight) or type(o.weight) == "number" then
    return loss * half.wide(o.weight)
  end
  core.fail(("%s: weight must be a tensor or a number, got %s"):format(name,
    core.kind(o.weight)))
end

-- log(1 + e^-x), with the right slope everywhere.
local function minus_log_sigmoid(x) return softplus(-x) end

--- bce_with_logits(x, y, {reduction="mean", weight=, pos_weight=}): binary
--- cross entropy of sigmoid(x) and y (0 to 1), without overflow; x and y of one
--- shape. weight multiplies every loss, pos_weight the part of y.
--- Example: bce_with_logits(tensor{0.0}, tensor{1.0}) --> 0.69315
local function bce_with_logits(x, y, options)
  local name = "bce_with_logits"
  local o = checks.options(name, options, "reduction weight pos_weight")
  local how = reduction(name, o)
  x, y = pair(name, x, y)
  local yes, p = minus_log_sigmoid(x), o.pos_weight
  if p ~= nil and not core.is_tensor(p) then
    p = checks.number(name, o, "pos_weight")
  end
  p = half.wide(p)
  local loss = p and (1 - y) * (x + yes) + y * p * yes or (1 - y) * x + yes
  return reduced(weighted(name, loss, o), how)
end

-- log p, at least -100.
local function floored_log(p)
  local zero = p:le(0)
  local log = map("log", where(zero, 1, p))
  return where(zero, -100, map("maximum", log, -100))
end

--- bce(p, y, {reduction="mean", weight=}): binary cross entropy of
--- probabilities p and y, both 0 to 1 and of one shape; log p counts as at least
--- -100. bce_with_logits is more exact.
--- Example: bce(tensor{0.5}, tensor{1.0}) --> 0.69315
local function bce(p, y, options)
  local o = checks.options("bce", options, "reduction weight")
  local how = reduction("bce", o)
  p, y = pair("bce", p, y)
  local loss = -(y * floored_log(p) + (1 - y) * floored_log(1 - p))
  return reduced(weighted("bce", loss, o), how)
end

-- ---- distances -------------------------------------------------------------

--- mse(x, y, {reduction="mean"}): mean of (x - y)^2 over all elements; x and y
--- of one shape.
--- Example: mse(tensor{1.0, 2.0}, tensor{1.0, 4.0}) --> 2
local function mse(x, y, options)
  local how = reduction("mse", checks.options("mse", options, "reduction"))
  x, y = pair("mse", x, y)
  return reduced(map("square", x - y), how)
end

--- l1(x, y, {reduction="mean"}): mean of |x - y|; x and y of one shape.
--- Example: l1(tensor{1.0, 2.0}, tensor{1.0, 4.0}) --> 1
local function l1(x, y, options)
  local how = reduction("l1", checks.options("l1", options, "reduction"))
  x, y = pair("l1", x, y)
  return reduced(map("abs", x - y), how)
end

-- d^2 / 2 up to the bound, then a line of slope `bound`. An infinite d has the
-- gradient of the line, that of nan is nan.
local function bent(x, y, bound)
  local d = x - y
  local size = map("abs", d)
  local is_far = size:ge(bound)
  local near = where(is_far, 0, d)
  return where(is_far, (size - 0.5 * bound) * bound, near * near * 0.5)
end

--- huber(x, y, {reduction="mean", delta=1}): (x - y)^2 / 2 where |x - y| is
--- below delta, else delta * (|x - y| - delta / 2); x and y of one shape.
--- Example: huber(tensor{0.0, 0.0}, tensor{1.0, 3.0}) --> 1.5
local function huber(x, y, options)
  local o = checks.options("huber", options, "reduction delta")
  local how = reduction("huber", o)
  local delta = checks.within("huber", o, "delta", 1, 0, math.huge)
  x, y = pair("huber", x, y)
  return reduced(bent(x, y, delta), how)
end

--- smooth_l1(x, y, {reduction="mean", beta=1}): huber divided by beta, which is
--- its delta; with beta 0 it is l1.
--- Example: smooth_l1(tensor{0.0, 0.0}, tensor{0.25, 3.0}, {beta=0.5}) --> 1.40625
local function smooth_l1(x, y, options)
  local o = checks.options("smooth_l1", options, "reduction beta")
  local how = reduction("smooth_l1", o)
  local beta = checks.within("smooth_l1", o, "beta", 1, 0, math.huge)
  x, y = pair("smooth_l1", x, y)
  if beta == 0 then return reduced(map("abs", x - y), how) end
  return reduced(bent(x, y, beta) / beta, how)
end

--- kl_div(log_p, q, {reduction="mean", log_target=false}): q * (log q - log_p),
--- the divergence of distributions, element by element; q is its log where
--- log_target. reduction="batchmean" divides the sum by the rows, which is the
--- divergence of a batch.
--- Example: kl_div(log(tensor{0.5, 0.5}), tensor{1.0, 0.0}, {reduction="sum"}) --> 0.69315
local function kl_div(log_p, q, options)
  local o = checks.options("kl_div", options, "reduction log_target")
  local how = reduction("kl_div", o, "batchmean")
  log_p, q = pair("kl_div", log_p, q)
  local loss
  if checks.flag("kl_div", o, "log_target", false) then
    loss = map("exp", q) * (q - log_p)
  else
    local none = q:le(0)
    local log_q = map("log", where(none, 1, q))
    loss = where(none, 0, q * (log_q - log_p))
  end
  if how ~= "batchmean" then return reduced(loss, how) end
  return loss:sum() / (log_p.shape[1] or 1)
end

--- cosine_similarity(x, y, {axis=-1, eps=1e-8}): cosine of the angle between x
--- and y along an axis; lengths below eps count as eps.
--- Example: cosine_similarity(tensor{1.0, 0.0}, tensor{1.0, 1.0}) --> 0.70711
local function cosine_similarity(x, y, options)
  local name = "cosine_similarity"
  local o = checks.options(name, options, "axis eps")
  local eps = checks.within(name, o, "eps", 1e-8, 0, math.huge)
  x, y = pair(name, x, y)
  local along = { axis = o.axis == nil and -1 or o.axis }
  local a, b = norm(x, along), norm(y, along)
  return (x * y):sum(along) / (map("maximum", a, eps) * map("maximum", b, eps))
end

-- The same loss, with halves computed in f32 and rounded once.
local function in_f32(f)
  return function(x, y, options)
    local loss = f(half.wide(x), half.wide(y), options)
    local o = options or {}
    return half.back(loss, x, y, o.weight, o.pos_weight)
  end
end

local losses = {
  cross_entropy = cross_entropy,
  nll = nll,
  bce = bce,
  bce_with_logits = bce_with_logits,
  mse = mse,
  l1 = l1,
  huber = huber,
  smooth_l1 = smooth_l1,
  kl_div = kl_div,
  cosine_similarity = cosine_similarity,
}
for name, f in pairs(losses) do losses[name] = in_f32(f) end -- order-free

return losses
