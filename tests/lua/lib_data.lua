-- Splits and batches of rows, and files of numbers.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local n = 103
local x = arange(1, 2 * n):reshape(n, 2):cast("f32")
local y = arange(1, n)

local function together(xb, yb)
  eq(xb[{ {}, 2 }], (yb * 2):cast("f32"))
end

local function sorted(t)
  local copy = table.move(t, 1, #t, 1, {})
  table.sort(copy)
  return copy
end

case("split", "two parts that share no row, rows stay together", function()
  local x1, y1, x2, y2 = data.split(x, y, 0.8, 1)
  eq({ #x1, #y1, #x2, #y2 }, { 82, 82, 21, 21 })
  together(x1, y1)
  together(x2, y2)
  local all = y1:table()
  for _, v in ipairs(y2:table()) do all[#all + 1] = v end
  check(all[1] ~= 1 or all[2] ~= 2 or all[3] ~= 3, "not shuffled")
  eq(sorted(all), y)
end)

case("split", "the key decides; fractions 0 and 1; no labels", function()
  local _, a = data.split(x, y, 0.5, 7)
  local _, b = data.split(x, y, 0.5, 7)
  local _, c = data.split(x, y, 0.5, 8)
  check(equal(a, b) and not equal(a, c))
  local all, ally, none, noney = data.split(x, y, 1, 1)
  shape(all, { n, 2 })
  shape(ally, { n })
  shape(none, { 0, 2 })
  shape(noney, { 0 })
  local x1, y1, x2, y2 = data.split(x, nil, 0.5, 1)
  check(y1 == nil and y2 == nil)
  eq({ #x1, #x2 }, { 52, 51 })
end)

case("batches", "every row once, a short last one", function()
  local seen, sizes = {}, {}
  for xb, yb in data.batches(x, y, 32, 3) do
    together(xb, yb)
    sizes[#sizes + 1] = #xb
    for _, v in ipairs(yb:table()) do seen[#seen + 1] = v end
  end
  eq(sizes, { 32, 32, 32, 7 })
  eq(sorted(seen), y)
  check(seen[1] ~= 1 or seen[2] ~= 2 or seen[3] ~= 3, "not shuffled")
end)

case("batches", "without a key in order; no labels; exact sizes", function()
  local seen = {}
  for xb, yb in data.batches(x, nil, 103) do
    check(yb == nil)
    seen[#seen + 1] = xb
  end
  eq({ #seen }, { 1 })
  eq(seen[1], x)
  local count = 0
  for _ in data.batches(zeros(0, 4), nil, 5, 1) do count = count + 1 end
  eq(count, 0)
end)

case("shuffles", "are uniform", function()
  -- Where does row 1 of 4 go in 2,000 shuffles? 500 to each place, +-19.
  local four, at = arange(1, 4), { 0, 0, 0, 0 }
  for key = 1, 2000 do
    local _, order = data.split(four, four, 1, key)
    for i, v in ipairs(order:table()) do
      if v == 1 then at[i] = at[i] + 1 end
    end
  end
  for i = 1, 4 do check(math.abs(at[i] - 500) < 90, "place " .. i) end
end)

-- The order that 64 random bits for each row give, sorted here.
local function order_of(key, rows)
  local core = require "tsh.core"
  local words, numbers, order = core.rand_key(key, 0, 2 * rows):table(), {}, {}
  for i = 1, rows do
    numbers[i] = words[i] * (1 << 32) + words[rows + i]
    order[i] = i
  end
  table.sort(order, function(a, b) return numbers[a] < numbers[b] end)
  return order
end

case("shuffles", "sort the random numbers of the key", function()
  for key = 1, 3 do
    local want = order_of(key, n)
    local _, order = data.split(x, y, 1, key)
    eq(order, want)
    local at = 0
    for _, yb in data.batches(x, y, 10, key) do
      eq(yb, table.move(want, at + 1, at + #yb, 1, {}))
      at = at + #yb
    end
  end
end)

case("shuffles", "are the same on every device", function()
  local want = order_of(5, n)
  for _, d in ipairs(tsh.devices()) do
    if d.available then
      local was = tsh.device(d.name)
      local _, here = data.split(x, y, 1, 5)
      local _, there = data.split(x:to(d.name), y:to(d.name), 1, 5)
      tsh.device(was)
      local _, far = data.split(x:to(d.name), y:to(d.name), 1, 5)
      check(here.device == y.device and there.device == d.name
        and far.device == d.name, d.name)
      eq(here, want)
      eq(there, want)
      eq(far, want)
    end
  end
end)

case("shuffles", "of 60,000 rows cost less than 3 ms", function()
  local clock = require("tsh.core").clock
  local pictures, least = zeros(60000, 2), math.huge
  for key = 1, 30 do
    local t = clock()
    data.batches(pictures, nil, 100, key)
    least = math.min(least, clock() - t)
  end
  if not os.getenv("ASAN_OPTIONS") then
    check(least < 0.003, ("%.2f ms"):format(least * 1e3))
  end
end)

case("errors", "name the argument", function()
  fails(function() data.split(x, y[{ { 1, 5 } }], 0.5, 1) end, "103 rows")
  fails(function() data.split(x, y, 2, 1) end, "fraction")
  fails(function() data.split(x, y, 0.5) end, "key")
  fails(function() data.batches(x, y, 0, 1) end, "size")
  fails(function() data.batches(x, y, 8, 1.5) end, "key")
  fails(function() data.batches(tensor(1), nil, 8) end, "rows")
end)

-- ---- files -----------------------------------------------------------------

local function with_file(text, ending, f)
  local path = os.tmpname()
  local named = path .. ending
  local out = assert(io.open(named, "wb"))
  out:write(text)
  out:close()
  local ok, e = pcall(f, named)
  os.remove(named)
  os.remove(path)
  if not ok then error(e, 0) end
end

case("read", "numbers, names, missing values", function()
  with_file("a,b\n1,2.5\n,-3\n", ".csv", function(path)
    local t, names = read(path)
    eq(t, { { 1, 2.5 }, { nan, -3 } })
    dtype(t, "f32")
    eq(names, { "a", "b" })
  end)
  with_file("\xef\xbb\xbf\"1\";2\r\n3;4\r\n", ".CSV", function(path)
    local t, names = read(path)
    eq(t, { { 1, 2 }, { 3, 4 } })
    check(names == nil)
    eq(data.csv(path), t)
  end)
  with_file("1\t2\n", ".tsv", function(path) eq(read(path), { { 1, 2 } }) end)
end)

case("read", "labels count from 1", function()
  with_file("1,2,0\n3,4,2\n5,6,1\n", ".csv", function(path)
    local t, l = read(path, { labels = true })
    eq(t, { { 1, 2 }, { 3, 4 }, { 5, 6 } })
    eq(l, { 1, 3, 2 })
    dtype(l, "i64")
  end)
  with_file("1,2,1\n3,4,2\n", ".csv", function(path)
    local _, l = read(path, { labels = true })
    eq(l, { 1, 2 })
  end)
end)

case("read", "errors name line and column", function()
  with_file("1,2\n3,4,5\n", ".csv", function(path)
    fails(function() read(path) end, ":2: 3 fields, the first row has 2")
  end)
  with_file("1,2\n3,x\n", ".csv", function(path)
    fails(function() read(path) end, ':2:3: field 2 is no number: "x"')
  end)
  with_file("1,2\n3,4.5\n", ".csv", function(path)
    fails(function() read(path, { labels = true }) end, "whole number")
  end)
  fails(function() read("/nonexistent.csv") end, "No such file")
  fails(function() read("x.unknown") end, "No such file")
  with_file("1,2\n", ".unknown", function(path)
    fails(function() read(path) end, "no reader")
    eq(read(path, { format = "csv" }), { { 1, 2 } })
    eq(data.csv(path), { { 1, 2 } })
  end)
  fails(function() read("/tmp") end, "Is a directory")
  fails(function() read("x\0.csv") end, "zero byte")
  fails(function() data.csv("x\0.csv") end, "zero byte")
  with_file("a,1\n2,3\n", ".csv", function(path)
    fails(function() read(path) end, ':1:1: field 1 is no number: "a"')
  end)
  fails(function() read(5) end, "path")
  with_file("1,2\n", ".csv", function(path)
    fails(function() read(path, { label = true }) end, "label")
  end)
end)


-- ---- idx -------------------------------------------------------------------

local function idx(code, dims, format, ...)
  local head = string.pack("BBBB", 0, 0, code, #dims)
  for _, n in ipairs(dims) do head = head .. string.pack(">I4", n) end
  for _, v in ipairs { ... } do head = head .. string.pack(format, v) end
  return head
end

case("idx", "every type, big-endian", function()
  local function holds(text, want, options)
    with_file(text, ".idx", function(path)
      eq(data.idx(path, options), want)
      eq(read(path, options), want)
    end)
  end
  local f32, i64 = { dtype = "f32" }, { dtype = "i64" }
  holds(idx(0x08, { 2, 2 }, "B", 0, 1, 128, 255), { { 0, 1 }, { 128, 255 } },
    f32)
  holds(idx(0x08, { 2 }, "B", 0, 255), { 0, 255 }, i64)
  holds(idx(0x09, { 3 }, "b", -128, -1, 127), { -128, -1, 127 }, f32)
  holds(idx(0x0b, { 2 }, ">i2", -32768, 258), { -32768, 258 },
    { dtype = "i32" })
  holds(idx(0x0c, { 1, 2 }, ">i4", -5, 16909060), { { -5, 16909060 } })
  holds(idx(0x0d, { 2 }, ">f", 1.5, -0.25), { 1.5, -0.25 })
  holds(idx(0x0e, { 2 }, ">d", 0.1, -1e300), { 0.1, -1e300 })
  holds(idx(0x0d, {}, ">f", 7), 7)
  holds(idx(0x0d, { 3, 0 }, ">f"), { {}, {}, {} })
end)

case("idx", "labels count from 1 when the file's count from 0", function()
  with_file(idx(0x08, { 4 }, "B", 9, 0, 3, 1), ".idx", function(path)
    local y = data.idx(path, { labels = true })
    eq(y, { 10, 1, 4, 2 })
    dtype(y, "i64")
  end)
  with_file(idx(0x08, { 3 }, "B", 9, 1, 3), ".idx", function(path)
    eq(data.idx(path, { labels = true }), { 9, 1, 3 })
  end)
end)

-- gzip of the idx file u8[2,3] {{1, 2, 3}, {250, 251, 255}}.
local GZ = "\x1f\x8b\x08\0\0\0\0\0\x02\x03\x63\x60\xe0\x60\x62\x60\x60\0"
  .. "\x61\x66\x46\x26\xe6\x5f\xbf\xff\x03\0\x19\x4c\x3a\x14\x12\0\0\0"

case("idx", "compressed", function()
  local want, f32 = { { 1, 2, 3 }, { 250, 251, 255 } }, { dtype = "f32" }
  for _, ending in ipairs { ".gz", "" } do
    with_file(GZ, ending, function(path)
      eq(data.idx(path, f32), want)
      eq(read(path, f32), want)
    end)
  end
  for cut = 1, #GZ - 1 do
    with_file(GZ:sub(1, cut), ".gz", function(path)
      fails(function() data.idx(path, f32) end, "data.idx: /")
    end)
  end
  with_file(GZ:sub(1, 36) .. "\x13" .. GZ:sub(38), ".gz", function(path)
    fails(function() data.idx(path, f32) end, "damaged")
  end)
  with_file(GZ .. GZ, ".gz", function(path)
    fails(function() data.idx(path, f32) end, "bytes follow")
  end)
end)

case("idx", "what is wrong is said", function()
  local good = idx(0x0c, { 1, 2 }, ">i4", 1, 2)
  local function refused(text, why)
    with_file(text, ".idx", function(path)
      fails(function() data.idx(path) end, why)
    end)
  end
  for cut = 0, #good - 1 do refused(good:sub(1, cut), "cut short") end
  refused(good .. "x", "8 bytes of elements, 9 follow")
  refused("\0\1" .. good:sub(3), "begins with bytes 00 01")
  refused(idx(0x0a, { 1 }, "B", 1), "0x0a, which is no idx type")
  refused("\0\0\8\9" .. ("\0\0\0\1"):rep(9) .. "x", "9 axes")
  refused("\0\0\8\8" .. ("\xff"):rep(32), "2%^62")
  refused("\0\0\8\2\0\0\1\0\xff\xff\xff\xff", "cut short")
  with_file(good, ".idx", function(path)
    fails(function() data.idx(path, { label = true }) end, "labels")
    fails(function() data.csv(path) end, "kind idx")
    fails(function() data.idx(path, { dtype = "f99" }) end, "f99")
  end)
end)

done()
