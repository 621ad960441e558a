-- names: data
--
-- Rows of data: the first axis of every tensor counts samples.
local core = require "tsh.core"
local files = require "tsh.files"

local data = {}

-- ---- shuffles --------------------------------------------------------------

-- A stream of random words 0..2^32-1 of a key, fetched n at a time.
local function words(key, n)
  local list, at, base = {}, 0, 0
  return function()
    if at == #list then
      list, at = core.rand_key(key, base, n):table(), 0
      base = base + (n + 3) // 4
    end
    at = at + 1
    return list[at]
  end
end

-- A whole number 1..n, each as likely: words of the uneven rest are refused.
local function draw(next_word, n)
  local limit = (1 << 32) // n * n
  local w = next_word()
  while w >= limit do w = next_word() end
  return w % n + 1
end

-- 1..n in an order drawn from the key, every order as likely.
local function shuffled(n, key)
  local order, next_word = {}, words(key, n + 8)
  for i = 1, n do order[i] = i end
  for i = n, 2, -1 do
    local k = draw(next_word, i)
    order[i], order[k] = order[k], order[i]
  end
  return order
end

local function check_rows(name, x, y)
  if not core.is_tensor(x) or #x.shape == 0 then
    core.fail(name .. ": argument 1 must be a tensor with rows")
  end
  if y == nil then return end
  if not core.is_tensor(y) or y.shape[1] ~= x.shape[1] then
    core.fail(("%s: %s rows need as many labels, got %s"):format(name,
      x.shape[1], core.is_tensor(y) and tostring(y.shape) or type(y)))
  end
end

local function check_key(name, key)
  if math.type(key) ~= "integer" then
    core.fail(name .. ": a key is an integer, got " .. tostring(key))
  end
end

-- The given rows (counted from 1) of t; nil for nil.
local function rows(t, order)
  if t == nil then return nil end
  local at = tensor(order, "i64")
  return core.take0(t, at - 1, 1)
end

--- data.split(x, y, fraction, key): the rows of x and y (or nil) in an order
--- drawn from an integer key, cut in two: x1, y1, x2, y2, where the first part
--- has that fraction of the rows, rounded.
--- Example: local x, y, xt, yt = data.split(images, labels, 0.8, 1)
function data.split(x, y, fraction, key)
  check_rows("data.split", x, y)
  check_key("data.split", key)
  if type(fraction) ~= "number" or not (fraction >= 0 and fraction <= 1) then
    core.fail("data.split: the fraction is a number from 0 to 1, got "
      .. tostring(fraction))
  end
  local n = x.shape[1]
  local order, cut = shuffled(n, key), math.floor(n * fraction + 0.5)
  local first = table.move(order, 1, cut, 1, {})
  local second = table.move(order, cut + 1, n, 1, {})
  return rows(x, first), rows(y, first), rows(x, second), rows(y, second)
end

local function slice_rows(t, from, count)
  if t == nil then return nil end
  local ranges = { { from, count, 1 } }
  for i = 2, #t.shape do ranges[i] = { 0, t.shape[i], 1 } end
  return core.slice0(t, ranges)
end

--- data.batches(x, y, size, key): iterator over x and y (or nil) in batches of
--- size rows; the last one is shorter when the rows do not fill it. With an
--- integer key the rows are shuffled by it, once for the whole walk: another
--- epoch wants another key. Without one they keep their order.
--- Example: for xb, yb in data.batches(x, y, 32, epoch) do print(#xb) end
function data.batches(x, y, size, key)
  check_rows("data.batches", x, y)
  if math.type(size) ~= "integer" or size < 1 then
    core.fail("data.batches: a size is an integer from 1, got "
      .. tostring(size))
  end
  if key ~= nil then
    check_key("data.batches", key)
    local order = shuffled(x.shape[1], key)
    x, y = rows(x, order), rows(y, order)
  end
  local n, at = x.shape[1], 0
  return function()
    if at >= n then return nil end
    local from, count = at, math.min(size, n - at)
    at = at + count
    return slice_rows(x, from, count), slice_rows(y, from, count)
  end
end

--- data.csv(path, {labels=false}): as read(path) of a csv file.
--- Example: local x, y = data.csv("digits.csv", {labels = true})
data.csv = files.csv

--- data.idx(path, {dtype=, labels=false, device=}): the tensor in an idx file,
--- as MNIST has them, also compressed (.gz); its elements are u8, i8, i16, i32,
--- f32 or f64, as the file says, or become dtype. labels=true: class labels as
--- i64, counted from 1 (0, 1, ... become 1, 2, ...).
--- Example: local x = data.idx("train-images-idx3-ubyte.gz", {dtype = "f32"})
data.idx = files.idx

return { data = data }
