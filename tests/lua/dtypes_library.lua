-- Functions of the library with every dtype: which dtype they give, and that
-- the values are those of the same computation in f64 (i64 where it is one of
-- integers), or one clear error.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local DTYPES = { "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
  "f16", "bf16", "f32", "f64" }
local FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }
local HALF = { f16 = true, bf16 = true }

-- ---- inputs ----------------------------------------------------------------
-- Numbers that every dtype holds; bool is whether they are odd.

local function make(numbers, sizes, dt)
  local x = tensor(numbers):reshape(sizes)
  if dt == "bool" then return (x % 2):eq(1) end
  return x:cast(dt)
end

local function line(dt) return make({ 3, 1, 2, 5, 4, 1 }, { 6 }, dt) end
local function ones_of(dt) return make({ 1, 1, 1 }, { 3 }, dt) end
local function two(dt) return make({ 0, 1, 1, 0 }, { 4 }, dt) end
local function matrix(dt)
  return make({ 3, 1, 2, 5, 4, 1, 2, 2, 1 }, { 3, 3 }, dt)
end
local function image(dt)
  return make({ 3, 1, 2, 5, 4, 1, 2, 2, 1, 0, 1, 3, 2, 1, 1, 4 }, { 1, 1, 4, 4 },
    dt)
end
local function wave(dt)
  return make({ 3, 1, 2, 5, 4, 1, 2, 2, 1, 0, 1, 3 }, { 1, 2, 6 }, dt)
end
local function small(dt, ...) return make({ 1, 2, 3, 1 }, { ... }, dt) end

local AT = tensor { 1, 3, 2 }

-- ---- rules of the result ---------------------------------------------------

local rules = {}

function rules.same(dt) return dt end
function rules.positions() return "i64" end
function rules.truth() return "bool" end
function rules.float(dt) return FLOAT[dt] and dt or "f32" end
function rules.sum(dt)
  return FLOAT[dt] and dt or dt:sub(1, 1) == "u" and "u64" or "i64"
end

-- What the same computation is made in: no element loses anything there.
local function wide_of(dt)
  return FLOAT[dt] and "f64" or dt == "bool" and "bool" or "i64"
end

local EPSILON = { f16 = 2.0 ^ -10, bf16 = 2.0 ^ -7, f32 = 1e-5, f64 = 1e-11 }

local function as_f64(x) return x:cast("f64") end

local function check_value(got, want, dt)
  dtype(got, dt)
  if FLOAT[dt] then near(as_f64(got), as_f64(want), EPSILON[dt])
  else eq(got:cast("i64"), want:cast("i64")) end
end

-- Of a half: what f32 gives, rounded once.
local function check_once(got, f, dt)
  eq(got, f("f32"):cast(dt))
end

-- The n-th result of f alone.
local function nth(f, n)
  return function(dt) return (select(n, f(dt))) end
end

-- ---- the table -------------------------------------------------------------
-- name, rule of each result (words), f(dtype), {dtype or kind = error}

local no_bool = { bool = "bool" }
local integers_only = { bool = "integers", float = "integers" }

local ROWS = {
  { "sort", "same positions", function(d) return sort(line(d)) end },
  { "sort down", "same positions",
    function(d) return sort(matrix(d), 1, { descending = true }) end },
  { "argsort", "positions", function(d) return argsort(line(d)) end },
  { "topk", "same positions", function(d) return topk(line(d), 2) end },
  { "median", "same", function(d) return median(line(d)) end },
  { "median along", "same positions",
    function(d) return median(matrix(d), 1) end },
  { "unique", "same positions positions", function(d)
    return unique(line(d), { inverse = true, counts = true })
  end },
  { "searchsorted", "positions",
    function(d) return searchsorted(sort(line(d)), line(d)) end },
  { "cumsum", "sum", function(d) return cumsum(line(d)) end },
  { "cumprod", "sum", function(d) return cumprod(line(d)) end },
  { "count_nonzero", "positions", function(d) return count_nonzero(two(d)) end },
  { "amax", "same", function(d) return amax(matrix(d), 1) end },
  { "amin", "same", function(d) return amin(matrix(d), 1) end },
  { "nonzero", "positions", function(d) return nonzero(two(d)) end },
  { "masked_select", "same",
    function(d) return masked_select(line(d), line("i64"):gt(2)) end },
  { "gather", "same", function(d) return gather(line(d), AT) end },
  { "take_along_axis", "same",
    function(d) return take_along_axis(line(d), AT) end },
  { "scatter_add", "same",
    function(d) return scatter_add(line(d), AT, line(d)) end, no_bool },
  { "dot", "same", function(d) return dot(line(d), line(d)) end,
    { bool = "dot: there is no product of bool" } },
  { "trace", "sum", function(d) return trace(matrix(d)) end },
  { "diagonal", "same", function(d) return diagonal(matrix(d)) end },
  { "diag", "same", function(d) return diag(ones_of(d)) end },
  { "tril", "same", function(d) return tril(matrix(d)) end },
  { "triu", "same", function(d) return triu(matrix(d), 1) end },
  { "histogram", "positions", nth(function(d)
    return histogram(line(d), 4)
  end, 1) },
  { "histogram range", "positions", nth(function(d)
    return histogram(line(d), 3, 0, 6)
  end, 1) },
  { "bincount", "positions", function(d) return bincount(line(d)) end,
    integers_only },
  { "bincount weights", "sum",
    function(d) return bincount(tensor { 2, 1, 2, 1, 1, 3 },
      { weights = line(d) }) end },
  { "tile", "same", function(d) return tile(line(d), 2) end },
  { "repeat_interleave", "same",
    function(d) return repeat_interleave(line(d), 2) end },
  { "repeat_interleave by", "positions",
    function(d) return repeat_interleave(AT, make({ 1, 3, 2 }, { 3 }, d)) end,
    integers_only },
  { "roll", "same", function(d) return roll(line(d), 2) end },
  { "split", "same", function(d) return split(line(d), 4)[2] end },
  { "chunk", "same", function(d) return chunk(line(d), 2)[2] end },
  { "unbind", "same", function(d) return unbind(matrix(d), 2)[2] end },
  { "meshgrid", "same same",
    function(d) return meshgrid(line(d), ones_of(d)) end },
  { "stack", "same", function(d) return stack { line(d), line(d) } end },
  { "flip", "same", function(d) return flip(line(d)) end },
  { "outer", "same", function(d) return outer(ones_of(d), line(d)) end,
    no_bool },
  { "diff", "same", function(d) return diff((sort(line(d)))) end, no_bool },

  { "conv1d", "same", function(d) return conv1d(wave(d), small(d, 1, 2, 2)) end,
    { bool = "conv1d: there is no product of bool" } },
  { "conv1d bias", "same", function(d)
    return conv1d(wave(d), small(d, 2, 1, 2), { groups = 2, padding = 1,
      bias = make({ 1, 2 }, { 2 }, d) })
  end, no_bool },
  { "conv2d", "same",
    function(d) return conv2d(image(d), small(d, 1, 1, 2, 2)) end, no_bool },
  { "conv_transpose1d", "same",
    function(d) return conv_transpose1d(wave(d), small(d, 2, 1, 2)) end,
    no_bool },
  { "conv_transpose2d", "same", function(d)
    return conv_transpose2d(image(d), small(d, 1, 1, 2, 2), { stride = 2 })
  end, { bool = "conv_transpose2d: there is no product of bool" } },
  { "max_pool1d", "same", function(d) return max_pool1d(wave(d), 2) end },
  { "max_pool2d", "same",
    function(d) return max_pool2d(image(d), { kernel = 2, padding = 1 }) end },
  { "avg_pool1d", "float", function(d) return avg_pool1d(wave(d), 3) end },
  { "avg_pool2d", "float", function(d)
    return avg_pool2d(image(d), { kernel = 3, padding = 1, stride = 2,
      count_pad = false })
  end },
  { "adaptive_avg_pool2d", "float",
    function(d) return adaptive_avg_pool2d(image(d), 3) end },

  { "cross_entropy", "float",
    function(d) return cross_entropy(matrix(d), AT) end },
  { "cross_entropy weight", "float", function(d)
    return cross_entropy(matrix(d), AT, { weight = make({ 1, 3, 5 }, { 3 }, d) })
  end },
  { "cross_entropy labels", "positions", function(d)
    local y = make({ 1, 3, 2 }, { 3 }, d)
    return (cross_entropy(matrix("f32"), y) * 1000):cast("i64")
  end, integers_only },
  { "nll", "float", function(d) return nll(matrix(d), AT) end },
  { "bce", "float", function(d) return bce(two(d), two(d)) end },
  { "bce_with_logits", "float",
    function(d) return bce_with_logits(line(d), line(d)) end },
  { "mse", "float", function(d) return mse(line(d), flip(line(d))) end },
  { "l1", "float", function(d) return l1(line(d), flip(line(d))) end },
  { "huber", "float", function(d) return huber(line(d), flip(line(d))) end },
  { "smooth_l1", "float",
    function(d) return smooth_l1(line(d), flip(line(d))) end },
  { "kl_div", "float", function(d) return kl_div(line(d), flip(line(d))) end },
  { "cosine_similarity", "float",
    function(d) return cosine_similarity(line(d), flip(line(d))) end },

  { "clamp", "same", function(d) return clamp(line(d), 2, 4) end,
    { skip = "bool" } },
  { "isclose", "truth", function(d) return isclose(line(d), 2) end },
  { "nan_to_num", "same", function(d) return nan_to_num(line(d)) end },
  { "hypot", "float", function(d) return hypot(line(d), flip(line(d))) end },
  { "layer_norm", "float", function(d) return layer_norm(matrix(d)) end },
  { "logsumexp", "float", function(d) return logsumexp(matrix(d), 1) end },
  { "logaddexp", "float",
    function(d) return logaddexp(line(d), flip(line(d))) end },
  { "std", "float", function(d) return std(line(d)) end },
  { "norm", "float", function(d) return norm(line(d)) end },
  { "leaky_relu", "float", function(d) return leaky_relu(line(d), 0.3) end },
  { "silu", "float", function(d) return silu(line(d)) end },
  { "gelu", "float", function(d) return gelu(line(d)) end },
  { "softplus", "float", function(d) return softplus(line(d)) end },
}

local function refusal(row, dt)
  local errors = row[4] or {}
  return errors[dt] or FLOAT[dt] and errors.float
end

local function check_row(row, dt)
  local f = row[3]
  local text = refusal(row, dt)
  if text then return fails(function() f(dt) end, text) end
  local n = 0
  for rule in row[2]:gmatch("%S+") do
    n = n + 1
    local part, want = nth(f, n), rules[rule](dt)
    local got = part(dt)
    check_value(got, part(wide_of(dt)), want)
    if HALF[want] then check_once(got, part, want) end
  end
end

for _, row in ipairs(ROWS) do
  case(row[1], "in every dtype", function()
    for _, dt in ipairs(DTYPES) do
      if not (row[4] and row[4].skip == dt) then
        local ok, e = pcall(check_row, row, dt)
        if not ok then error(dt .. ": " .. e, 0) end
      end
    end
  end)
end

-- ---- what the table cannot say ---------------------------------------------

case("large sums", "do not stall, wrap or overflow in a narrow dtype", function()
  local at = ones({ 600 }, "i64")
  eq(bincount(at, { weights = full({ 600 }, 200, "u8") }), { 120000 })
  eq(bincount(at, { weights = full({ 600 }, -100, "i8") }), { -60000 })
  eq(trace(full({ 300, 300 }, 200, "u8")), 60000)
  for _, dt in ipairs { "f16", "bf16" } do
    eq(bincount(ones({ 4096 }, "i64"), { weights = ones({ 4096 }, dt) }),
      { 4096 })
    eq(mse(full({ 4 }, 300, dt), zeros({ 4 }, dt)),
      full({}, 90000, "f32"):cast(dt))
    eq(hypot(full({ 1 }, 300, dt), full({ 1 }, 400, dt)), { 500 })
    eq(softplus(full({ 1 }, 20, dt)), { 20 })
  end
  eq(hypot(tensor({ -128, 3 }, "i8"), tensor({ 0, 4 }, "i8")), { 128, 5 })
  eq(hypot(tensor { true, true }, tensor { false, true }),
    { 1, tensor(2.0 ^ 0.5, "f32"):item() })
end)

case("literals", "that do not fit are errors, and go by value", function()
  fails(function() clamp(tensor({ 1 }, "u8"), -1, 2) end,
    "clamp: %-1 does not fit u8")
  fails(function() clamp(tensor({ 1 }, "i8"), { max = 200 }) end,
    "clamp: 200 does not fit i8")
  dtype(clamp(tensor({ 1, 3 }, "u8"), 0.5, 2.5), "f32")
  eq(clamp(tensor({ 0, 3 }, "u8"), 0.5, 2.5), { 0.5, 2.5 })
  eq(searchsorted(tensor({ 0.1, 0.2 }, "f64"), 0.1), 1)
  eq(searchsorted(tensor({ 0.1, 0.2 }, "f64"), 0.1, { right = true }), 2)
  eq(searchsorted(tensor { 16777216, 16777217 }, 16777216.5), 2)
  local big = 1 << 53
  eq(searchsorted(tensor { big, big + 1 }, big + 1), 2)
end)

case("u64", "numbers from 2^63 on", function()
  local top = 2.0 ^ 63
  local x = full({ 2, 2 }, top, "u64")
  dtype(x, "u64")
  eq(x >> 60, full({ 2, 2 }, 8, "u64"))
  eq(full_like(x, top + 2048) - x, full({ 2, 2 }, 2048, "u64"))
  eq(full({}, 2.0 ^ 64 - 2048, "u64") + tensor(2047, "u64"),
    tensor(0, "u64") - tensor(1, "u64"))
  check(tostring(full({ 1 }, top, "u64")) == "u64[1] [9223372036854775808]")
  fails(function() full({ 1 }, 2.0 ^ 64, "u64") end, "does not fit u64")
  fails(function() full({ 1 }, -1, "u64") end, "%-1 does not fit u64")
  fails(function() full({ 1 }, math.mininteger, "u64") end, "does not fit u64")
  fails(function() full({ 1 }, top, "i64") end, "does not fit i64")
end)

case("draws", "hold what they draw", function()
  for _, dt in ipairs { "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64" } do
    local x = randint(3, 5, { 100 }, { dtype = dt })
    dtype(x, dt)
    check(x:cast("i64"):ge(3):all():item() and x:cast("i64"):le(5):all():item())
    local p = randperm(100, { dtype = dt })
    dtype(p, dt)
    eq((sort(p)), arange(100))
  end
  fails(function() randint(-1, 5, 3, { dtype = "u8" }) end,
    "randint: %-1 does not fit u8")
  fails(function() randint(0, 1, 3, { dtype = "f32" }) end,
    "integers, not f32")
  fails(function() randperm(300, { dtype = "u8" }) end,
    "randperm: 1 to 300 do not fit u8")
  fails(function() randperm(2049, { dtype = "f16" }) end, "do not fit f16")
  fails(function() randperm(2, { dtype = "bool" }) end, "integers, not bool")
  fails(function() logspace(0, 3, 4, { dtype = "u8" }) end, "floats, not u8")
  for _, dt in ipairs { "f16", "bf16", "f32", "f64" } do
    local x = logspace(0, 3, 4, { dtype = dt })
    dtype(x, dt)
    eq(x, { 1, 10, 100, 1000 })
    dtype(bernoulli(full({ 3 }, 0.5, dt)), dt)
    dtype(multinomial(full({ 3 }, 0.5, dt), 2), "i64")
  end
  fails(function() bernoulli(tensor { 0, 1 }) end, "floats, not i64")
  eq(multinomial(tensor({ 0, 9, 0 }, "u8"), 1), { 2 })
end)

case("mixed", "the widest of the operands decides", function()
  local h, f, d = line("f16"), line("f32"), line("f64")
  dtype(mse(h, f), "f32")
  dtype(mse(f, h), "f32")
  dtype(mse(h, d), "f64")
  dtype(mse(h, line("i64")), "f16")
  dtype(mse(line("i64"), h), "f16")
  dtype(mse(h, line("bf16")), "f32")
  near(mse(h, d + 0.1), 0.01, 1e-12)
  dtype(layer_norm(h, nil, f), "f32")
  dtype(layer_norm(h, nil, h), "f16")
  dtype(conv1d(wave("f16"), small("f16", 1, 2, 2), { bias = ones(1) }), "f32")
  eq(conv1d(wave("u8"), small("u8", 1, 2, 2), { bias = tensor { 1000 } }),
    conv1d(wave("i64"), small("i64", 1, 2, 2)) + 1000)
  dtype(cross_entropy(matrix("f16"), AT, { weight = ones(3) }), "f32")
end)

-- ---- gradients and parameters ----------------------------------------------

local LOSSES = {
  { "cross_entropy", function(x) return cross_entropy(x, AT) end, matrix },
  { "soft", function(x)
    return cross_entropy(x, softmax(matrix("f32"), -1):cast(x.dtype))
  end, matrix },
  { "nll", function(x) return nll(log_softmax(x, -1), AT) end, matrix },
  { "bce", function(x) return bce(x / 8, two(x.dtype)) end, function(dt)
    return make({ 1, 2, 3, 4 }, { 4 }, dt)
  end },
  { "bce_with_logits", function(x) return bce_with_logits(x, x / 8) end, line },
  { "mse", function(x) return mse(x, x:square()) end, line },
  { "l1", function(x) return l1(x, x:square()) end, line },
  { "huber", function(x) return huber(x, x:square()) end, line },
  { "kl_div", function(x) return kl_div(x, x / 8) end, line },
  { "cosine", function(x) return cosine_similarity(x, x:square()) end, line },
  { "silu", function(x) return sum(silu(x)) end, line },
  { "gelu", function(x) return sum(gelu(x)) end, line },
  { "softplus", function(x) return sum(softplus(x)) end, line },
  { "layer_norm", function(x) return sum(layer_norm(x) * x) end, matrix },
  { "cumsum", function(x) return sum(cumsum(x):square()) end, line },
  { "conv2d", function(x)
    return sum(conv2d(x, small(x.dtype, 1, 1, 2, 2)):square())
  end, image },
  { "max_pool2d", function(x)
    return sum(max_pool2d(x, { kernel = 3, stride = 1 }) / 3)
  end, image },
  { "avg_pool2d", function(x)
    return sum(avg_pool2d(x, { kernel = 3, stride = 1 }):square())
  end, image },
  { "adaptive", function(x)
    return sum(adaptive_avg_pool2d(x, 3):square())
  end, image },
  { "unfold", function(x)
    return sum(require("tsh.core").windows(x, 1, 3, 1, 1) / 3)
  end, line },
}

for _, row in ipairs(LOSSES) do
  case("grad " .. row[1], "is of the parameter's dtype", function()
    for _, dt in ipairs { "f16", "bf16", "f32", "f64" } do
      local x = row[3](dt)
      local g = grad(row[2])(x)
      dtype(g, dt)
      near(as_f64(g), grad(row[2])(row[3]("f64")),
        HALF[dt] and 8 * EPSILON[dt] or 1e-4)
    end
  end)
end

case("grad pools", "what overlaps is added up before it is rounded", function()
  for _, dt in ipairs { "f16", "bf16" } do
    local x = one_hot(tensor { 8 }, 15, dt):reshape(1, 1, 1, 15)
    local function of(f, t)
      return grad(function(z) return sum(f(z) * 0.1) end)(t)
    end
    local function pooled(z)
      return max_pool2d(z, { kernel = { 1, 7 }, stride = 1 })
    end
    local function windowed(z)
      return require("tsh.core").windows(z, 4, 7, 1, 1)
    end
    local tenth = tensor(0.1, dt):cast("f32"):item()
    for _, f in ipairs { pooled, windowed } do
      local counts = grad(function(z) return sum(f(z)) end)(x:cast("f32"))
      eq(of(f, x), (counts * tenth):cast(dt))
    end
  end
end)

local LAYERS = {
  { "linear", nn.linear(3, 2), matrix },
  { "layer_norm", nn.layer_norm(3), matrix },
  { "batch_norm", nn.batch_norm(3), matrix },
  { "conv2d", nn.conv2d(1, 2, 2), image },
  { "elu", nn.elu(0.3), matrix },
  { "gelu", nn.gelu { approximate = "tanh" }, matrix },
  { "softmax", nn.softmax, matrix },
}

for _, row in ipairs(LAYERS) do
  case("nn." .. row[1], "of halves is rounded once", function()
    local spec = row[2]
    for _, dt in ipairs { "f16", "bf16" } do
      local p, state = nn.init(spec, 1, { dtype = dt })
      local function wide(t) return t:cast("f32") end
      local x = row[3](dt) * 0.3
      local pf, sf = tree.map(wide, p), state and tree.map(wide, state)
      for _, train in ipairs { false, true } do
        local y, new = nn.forward(spec, p, x, { state = state, train = train })
        local yf, newf = nn.forward(spec, pf, wide(x), { state = sf,
          train = train })
        dtype(y, dt)
        eq(y, yf:cast(dt))
        if row[1] == "batch_norm" and train then
          eq(new.mean, newf.mean:cast(dt))
          eq(new.var, newf.var:cast(dt))
        end
      end
      if #tree.leaves(p) > 0 then
        local g = grad(function(q)
          local y = nn.forward(spec, q, x, { state = state, train = true })
          return sum(y:square())
        end)(p)
        tree.each(g, function(t) dtype(t, dt) end)
      end
    end
  end)
end

local OPTIMIZERS = {
  optim.sgd { lr = 0.1, momentum = 0.9, dampening = 0.5, weight_decay = 0.1 },
  optim.adam { lr = 0.1 }, optim.adamw { lr = 0.1 },
  optim.rmsprop { lr = 0.1, momentum = 0.5, centered = true },
  optim.adagrad { lr = 0.1, lr_decay = 0.1 },
}

case("optim", "a state of halves is of halves, a step is rounded once",
  function()
  for _, opt in ipairs(OPTIMIZERS) do
    for _, dt in ipairs { "f16", "bf16" } do
      local p = { w = tensor({ 1, -2, 0.5, 3 }, dt), n = tensor { 7 } }
      local state = opt.init(p)
      for _ = 1, 3 do
        local g = { w = p.w * 0.3 }
        local pf = { w = p.w:cast("f32"), n = p.n }
        local sf = tree.map(function(t) return t:cast("f32") end, state)
        local next_p, next_state = opt.step(p, g, state)
        local want_p, want_state = opt.step(pf, { w = g.w:cast("f32") }, sf)
        dtype(next_p.w, dt)
        eq(next_p.w, want_p.w:cast(dt))
        eq(next_p.n, { 7 })
        tree.each(next_state, function(t, path, want)
          dtype(t, path == "step" and "f32" or dt)
          eq(t, want:cast(t.dtype))
        end, want_state)
        p, state = next_p, next_state
      end
    end
  end
end)

case("adam", "gradients of 0 move no half, small ones not too far", function()
  local opt = optim.adam { lr = 0.125 }
  local p = { tensor({ 1, 1, 1 }, "f16") }
  local state = opt.init(p)
  p, state = opt.step(p, { tensor({ 0, 1e-4, -1 }, "f16") }, state)
  eq(p[1], { 1, 0.875, 1.125 })
end)

case("clip", "squares of halves do not overflow", function()
  for _, dt in ipairs { "f16", "bf16" } do
    local g, length = optim.clip_by_norm({ full({ 4 }, 512, dt) }, 1)
    dtype(g[1], dt)
    dtype(length, dt)
    eq(length, 1024)
    eq(g[1], { 0.5, 0.5, 0.5, 0.5 })
    dtype(select(2, optim.clip_by_norm({ ones({ 1 }, dt), ones(1) }, 1)), "f32")
  end
end)

done()
