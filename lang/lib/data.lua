-- names: data
--
-- Rows of data: the first axis of every tensor counts samples.
local core = require "tsh.core"
local args = require "tsh.args"
local files = require "tsh.files"

--- data: rows of samples, which files give (read does it, too), which are cut
--- in two, and walked through in batches.
--- Example: images, labels, n = rand(10, 4), randint(1, 3, 10), 0;
---   for x, y in data.batches(images, labels, 4, 1) do n = n + #x end;
---   n --> 10
local data = {}

-- ---- shuffles --------------------------------------------------------------

-- The positions 0..n-1, i64, in an order drawn from the key: they sort n random
-- numbers of 64 bits, two words each. Words and sorting are exact, so the order
-- is the same on every device.
local function shuffled(n, key)
  local words = core.rand_key(key, 0, 2 * n)
  local high = core.slice0(words, { { 0, n, 1 } })
  local low = core.slice0(words, { { n, n, 1 } })
  local order = core.argsort0(high * (1 << 32) + low, 1, false)
  tsh.wait(order)
  return order
end

-- An order, moved once to every device where rows lie.
local function beside(order)
  local at = { [order.device] = order }
  return function(device)
    at[device] = at[device] or order:to(device)
    return at[device]
  end
end

local function check_rows(name, x, y)
  if not core.is_tensor(x) or #x.shape == 0 then
    core.fail(("%s: argument 1 must be a tensor with rows, got %s"):format(name,
      core.is_tensor(x) and "one without axes" or core.kind(x)))
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

local function slice_rows(t, from, count)
  local ranges = { { from, count, 1 } }
  for i = 2, #t.shape do ranges[i] = { 0, t.shape[i], 1 } end
  return core.slice0(t, ranges)
end

-- Rows from..from+count-1 (from 0) of t, or of an order of them.
local function cut(t, order, from, count)
  if t == nil then return nil end
  if not order then return slice_rows(t, from, count) end
  return core.take0(t, slice_rows(order(t.device), from, count), 1)
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
  local order, first = beside(shuffled(n, key)), math.floor(n * fraction + 0.5)
  return cut(x, order, 0, first), cut(y, order, 0, first),
    cut(x, order, first, n - first), cut(y, order, first, n - first)
end

-- ---- batches ---------------------------------------------------------------

local AHEAD = 2

local function check_batches(x, y, size, key, options)
  if type(x) ~= "string" then check_rows("data.batches", x) end
  if math.type(size) ~= "integer" or size < 1 then
    core.fail("data.batches: a size is an integer from 1, got "
      .. (type(size) == "number" and tostring(size) or core.kind(size)))
  end
  if key ~= nil then check_key("data.batches", key) end
  if options ~= nil and type(options) ~= "table" then
    core.fail("data.batches: argument 5 must be a table of options, got "
      .. core.kind(options))
  end
  local o = args.options("data.batches", options or {}, nil, "prefetch")
  return args.whole_from("data.batches", "prefetch", o.prefetch or AHEAD, 1)
end

local function check_path(path)
  if path:find("\0", 1, true) then
    core.fail("data.batches: a path has no zero byte")
  end
  return path
end

-- The files among x and y, opened: their handle and rows, or nil.
local function open_files(x, y)
  local paths = {}
  if type(x) == "string" then paths[1] = check_path(x) end
  if type(y) == "string" then paths[#paths + 1] = check_path(y) end
  if #paths == 0 then return nil end
  return core.feed_open("data.batches", table.unpack(paths))
end

-- How many rows there are, in the files and in the tensors.
local function count_rows(x, y, in_files)
  local n = core.is_tensor(x) and x.shape[1] or in_files
  if core.is_tensor(x) and in_files and in_files ~= n then
    core.fail(("data.batches: x has %d rows, %s has %d"):format(n, y, in_files))
  end
  if y == nil or type(y) == "string" then return n end
  if not core.is_tensor(y) or y.shape[1] ~= n then
    core.fail(("data.batches: %d rows need as many labels, got %s"):format(n,
      core.is_tensor(y) and tostring(y.shape) or core.kind(y)))
  end
  return n
end

local walk = {
  __name = "data.batches",
  __call = function(self) return self.next() end,
  __close = function(self)
    if self.feed then core.feed_close(self.feed) end
  end,
}

--- data.batches(x, y, size, key, {prefetch=2}): iterator over x and y (or nil)
--- in batches of size rows; the last one is shorter when the rows do not fill
--- it. With an integer key the rows are shuffled by it, once for the whole walk:
--- another epoch wants another key. Without one they keep their order. Its
--- fields rows and size say how many rows there are in all and in a batch.
--- x and y are tensors, or paths of .npy and idx files that are not compressed:
--- their rows are not held in memory but read by a thread, prefetch batches
--- before they are asked for, and come in the file's dtype. A loop that is left
--- ends the thread.
--- Example: for xb, yb in data.batches(x, y, 32, epoch) do print(#xb) end
function data.batches(x, y, size, key, options)
  local ahead = check_batches(x, y, size, key, options)
  local feed, in_files = open_files(x, y)
  local n = count_rows(x, y, in_files)
  core.tidy()
  local order = key and shuffled(n, key)
  if feed then core.feed_start("data.batches", feed, order, size, ahead) end
  order = order and beside(order)
  -- Shuffled rows are fetched batch by batch: they then lie in the cache.
  local at = 0
  local function next_batch()
    if at >= n then return nil end
    local from, count = at, math.min(size, n - at)
    at = at + count
    if not feed then
      return cut(x, order, from, count), cut(y, order, from, count)
    end
    local a, b = core.feed_next("data.batches", feed)
    if at >= n or a == nil then core.feed_close(feed) end
    if type(x) ~= "string" then return cut(x, order, from, count), a end
    if type(y) == "string" then return a, b end
    return a, cut(y, order, from, count)
  end
  local self = setmetatable({ rows = n, size = size, feed = feed,
    next = next_batch }, walk)
  return self, nil, nil, feed
end

--- data.csv(path, {labels=, header=, dtype=, device=}): as read(path) of a csv file.
--- Example: local x, y = data.csv("digits.csv", {labels = true})
data.csv = files.csv

--- data.idx(path, {dtype=, labels=false, device=}): the tensor in an idx file,
--- as MNIST has them, also compressed (.gz); its elements are u8, i8, i16, i32,
--- f32 or f64, as the file says, or become dtype. labels=true: class labels as
--- i64, counted from 1 (0, 1, ... become 1, 2, ...).
--- Example: local x = data.idx("train-images-idx3-ubyte.gz", {dtype = "f32"})
data.idx = files.idx

return { data = data }
