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
  fails(function() read("x.unknown") end, "no reader")
  fails(function() read("x") end, "no reader")
  fails(function() read(5) end, "path")
  with_file("1,2\n", ".csv", function(path)
    fails(function() read(path, { label = true }) end, "label")
  end)
end)

done()
