-- names: logspace meshgrid randint randperm permutation bernoulli multinomial
-- methods: permutation bernoulli multinomial
--
-- Tensors from nothing, and draws. Draws take from the stream that seed begins.
local core = require "tsh.core"
local args = require "tsh.args"
local map, fold = core.map, core.fold

-- The sizes and options of a call: numbers or one table, perhaps a table of
-- options or a dtype word behind them.
local function sizes_and_options(name, known, ...)
  local list, n = { ... }, select("#", ...)
  local o, s = {}, {}
  local last = list[n]
  if type(last) == "string" then
    o, n = { dtype = last }, n - 1
  elseif type(last) == "table" and args.has_names(last) then
    o, n = args.options(name, last, "dtype", known), n - 1
  end
  if n == 1 and type(list[1]) == "table" then
    list, n = list[1], #list[1]
  end
  for i = 1, n do s[i] = args.whole_from(name, "a size", list[i], 0) end
  return s, o
end

--- logspace(first, last, n) or logspace(first, last, n, {base=10, dtype=,
--- device=}): n numbers from base^first to base^last, each a constant times the
--- one before.
--- Example: logspace(0, 2, 3) --> 1 10 100
local function logspace(first, last, n, opts)
  local o = args.options("logspace", opts, "base", "base dtype device")
  local base = args.number_option("logspace", o, "base", 10)
  for i, v in ipairs { first or false, last or false } do
    if type(v) ~= "number" then
      core.fail(("logspace: argument %d must be a number, got %s"):format(i,
        core.kind(v or nil)))
    end
  end
  n = args.whole_from("logspace", "the number of elements", n, 0)
  local dtype = args.dtype(o.dtype) or "f32"
  if not args.FLOAT[dtype] then
    core.fail("logspace: its numbers are floats, not " .. dtype)
  end
  local device = o.device or core.full({ 0 }, 0).device
  -- In f64, which another device may not have, and rounded once.
  local at = linspace(first, last, n, { dtype = "f64", device = "cpu" })
  return map("pow", base + 0.0, at):cast(dtype):to(device)
end

--- meshgrid(x, y, ..., {indexing="ij"}): for tensors of one axis, of sizes m, n
--- ..., as many tensors [m, n, ...]: the first has the elements of x along its
--- first axis, the second those of y along its second. With indexing="xy" the
--- first two axes are exchanged.
--- Example: local a, b = meshgrid(tensor{1, 2}, tensor{3, 4, 5})
local function meshgrid(...)
  local list, o = { ... }, {}
  if type(list[#list]) == "table" then
    o = args.options("meshgrid", table.remove(list), "indexing", "indexing")
  end
  local xy = args.word_option("meshgrid", o, "indexing", "ij xy", "ij") == "xy"
  local s, results = {}, {}
  for i, x in ipairs(list) do
    args.check_tensor("meshgrid", x, i)
    if #x.shape > 1 then
      core.fail(("meshgrid: argument %d has the shape %s, not one axis"):format(
        i, tostring(x.shape)))
    end
    s[i] = core.count(x)
  end
  if xy and #s > 1 then s[1], s[2] = s[2], s[1] end
  for i, x in ipairs(list) do
    local own = {}
    for k = 1, #s do own[k] = 1 end
    own[xy and #s > 1 and i < 3 and 3 - i or i] = core.count(x)
    results[i] = x:reshape(own):expand(s)
  end
  return table.unpack(results)
end

-- ---- whole numbers ---------------------------------------------------------

local LOW = 0xffffffff

local function shr32(x) return (x >> 32) & LOW end

-- Word k of every element, of words [.., w].
local function word(words, k)
  local s = args.sizes(words)
  table.remove(s)
  return args.part(words, #words.shape, k, 1):reshape(s)
end

-- The words of s elements, w each, as i64 tensors.
local function draw(s, w, device)
  local count = 1
  for _, n in ipairs(s) do count = count * n end
  local words = core.draw({ count, w })
  if device and words.device ~= device then words = words:to(device) end
  local list = {}
  for k = 1, w do list[k] = word(words, k - 1):reshape(s) end
  return list
end

-- 0..n-1 of two words: the upper half of the product of a number of 64 bits
-- and n, which is taken without sign; n = 0 stands for 2^64.
local function below(words, n)
  local a, b = words[1], words[2]
  if n == 0 then return a << 32 | b end
  local n1, n0 = n >> 32, n & LOW
  local middle = shr32(b * n0) + (a * n0 & LOW) + (b * n1 & LOW)
  return a * n1 + shr32(a * n0) + shr32(b * n1) + shr32(middle)
end

--- randint(first, last, sizes): random whole numbers from first to last, both
--- included, each as likely; i64. Sizes are numbers or one table; {dtype=,
--- device=} comes last.
--- Example: randint(1, 6, 2, 3).shape --> [2,3]
local function randint(first, last, ...)
  local lo = args.whole_number("randint", "the first number", first)
  local hi = args.whole_number("randint", "the last number", last)
  local s, o = sizes_and_options("randint", "dtype device", ...)
  local dtype = args.dtype(o.dtype) or "i64"
  if not args.INTEGER[dtype] then
    core.fail("randint: its numbers are integers, not " .. dtype)
  end
  if lo > hi then
    core.fail(("randint: there is no number from %d to %d"):format(lo, hi))
  end
  args.check_literal("randint", lo, dtype)
  args.check_literal("randint", hi, dtype)
  local n, x = hi - lo + 1, nil
  if dtype == "i64" or dtype == "u64" then
    x = below(draw(s, 2, o.device), n) + lo
  else
    x = shr32(draw(s, 1, o.device)[1] * n) + lo
  end
  return dtype == "i64" and x or x:cast(dtype)
end

-- ---- orders ----------------------------------------------------------------

-- 0..n-1 in a random order: that of random numbers of 63 bits.
local function random_order(n, device)
  local w = draw({ n }, 2, device)
  return core.argsort0(w[1] << 31 | w[2] >> 1, 1, false)
end

-- The largest whole number up to which a float dtype has all.
local WHOLE = { f16 = 2048, bf16 = 256, f32 = 1 << 24, f64 = 1 << 53 }

-- A dtype that has all of 1..n.
local function check_holds(name, dtype, n)
  local range = args.RANGE[dtype]
  local most = range and range[2] or WHOLE[dtype]
  if not most then
    core.fail(("%s: its numbers are integers, not %s"):format(name, dtype))
  end
  if n > most then
    core.fail(("%s: 1 to %d do not fit %s"):format(name, n, dtype))
  end
end

--- randperm(n) or randperm(n, {dtype=, device=}): 1..n in a random order, i64.
--- Example: randperm(3):sum() --> 6
local function randperm(n, opts)
  n = args.whole_from("randperm", "a size", n, 0)
  local o = args.options("randperm", opts, "dtype", "dtype device")
  local dtype = args.dtype(o.dtype) or "i64"
  check_holds("randperm", dtype, n)
  local order = random_order(n, o.device) + 1
  return dtype == "i64" and order or order:cast(dtype)
end

--- permutation(n): 1..n in a random order, as randperm. permutation(x): the
--- rows of x in a random order.
--- Example: permutation(tensor{10, 20, 30}):sum() --> 60
local function permutation(x, opts)
  if type(x) == "number" then return (randperm(x, opts)) end
  args.check_tensor("permutation", x)
  args.axis_of("permutation", x, 1)
  return core.take0(x, random_order(x.shape[1], x.device), 1)
end

-- ---- chances ---------------------------------------------------------------

--- bernoulli(p): 1 with the chance that each element of p says, else 0, in p's
--- dtype.
--- Example: bernoulli(tensor{0.0, 1.0}) --> 0 1
local function bernoulli(p)
  args.check_tensor("bernoulli", p)
  if not args.FLOAT[p.dtype] then
    core.fail("bernoulli: chances are floats, not " .. p.dtype, "p / n")
  end
  local wide = p.dtype == "f64" and "f64" or "f32"
  local u = rand(p.shape:table(), { dtype = wide, device = p.device })
  return u:lt(p:detach():cast(wide)):cast(p.dtype)
end

local function check_chances(p, k, replacement)
  if #p.shape < 1 or #p.shape > 2 or p.shape[#p.shape] == 0 then
    core.fail("multinomial: chances are [n] or [rows, n], got "
      .. tostring(p.shape))
  end
  if core.count(p) == 0 then return end
  local good = fold("all", p:ge(0) & p:isfinite())
    & fold("all", fold("sum", p, { #p.shape }):gt(0))
  if core.is_hidden(good) then return end
  if not good:item() then
    core.fail("multinomial: chances are finite, not below 0, and not all 0")
  end
  if replacement then return end
  local n = fold("min", fold("sum", p:gt(0), { #p.shape })):item()
  if k > n then
    core.fail(("multinomial: %d different positions of %d that have a chance")
      :format(k, n), "{replacement=true} draws each anew")
  end
end

--- multinomial(p, k) or multinomial(p, k, {replacement=false}): k positions,
--- each drawn with the chance p[i] / sum(p); for p [rows, n] so many of each
--- row. Without replacement they differ. What is pending runs.
--- Example: multinomial(tensor{1.0, 0.0, 3.0}, 2):sum() --> 4
local function multinomial(p, k, opts)
  p = args.to_float(args.check_tensor("multinomial", p)):detach()
  p = p:cast(args.wide(p.device))
  local o = args.options("multinomial", k, "k", "k replacement", opts)
  local replacement = args.flag("multinomial", o, "replacement")
  k = args.whole_from("multinomial", "the number of positions", o.k, 0)
  check_chances(p, k, replacement)
  local axis, s = #p.shape, args.sizes(p)
  local like = { dtype = p.dtype, device = p.device }
  if not replacement then
    local e = -map("log", 1 - rand(s, like))
    -- 1 - u is above 0, so e is finite; it is 0 where u is.
    return core.argtopk0(p / map("maximum", e, 1e-30), axis, k, true) + 1
  end
  s[axis] = k
  local up_to = core.scan("cumsum", p, axis)
  local total = args.part(up_to, axis, p.shape[axis] - 1, 1)
  local last = fold("sum", up_to:lt(total), { axis }, true) + 1
  local at = searchsorted(up_to, rand(s, like) * total, { right = true })
  return map("minimum", at, last)
end

return {
  logspace = logspace,
  meshgrid = meshgrid,
  randint = randint,
  randperm = randperm,
  permutation = permutation,
  bernoulli = bernoulli,
  multinomial = multinomial,
}
