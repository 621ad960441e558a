-- The tsh half of sort.py: one line for each row, name, tab, milliseconds.
local core = require "tsh.core"
local N = 1 << 20

local function row(name, f, tries)
  local best = math.huge
  for _ = 1, tries or 15 do
    local begin = os.clock()
    local y = f()
    tsh.wait(y)
    best = math.min(best, os.clock() - begin)
    collectgarbage()
  end
  print(("%s\t%.4f"):format(name, best * 1e3))
end

local x = randn(N)
local d, i = x:f64(), (x * 1e8):cast("i32")
local long = (d * 1e17):cast("i64")
local m, narrow = x:reshape(1024, 1024), x:reshape(N // 16, 16)
local sorted, few = core.sort(x, 1, false), (x * 3):cast("i32"):f32()
local mask, at = x:gt(1), (rand(1024, 1024) * 1023):cast("i64")
local n = mask:sum():item()
tsh.wait(x, d, i, long, m, narrow, sorted, few, mask, at)

local function sort(t, axis) return core.sort(t, axis, false) end
local function argsort(t, axis) return core.argsort0(t, axis, false) end

row("sort f32", function() return sort(x, 1) end)
row("sort f32, sorted", function() return sort(sorted, 1) end)
row("sort f32, few values", function() return sort(few, 1) end)
row("sort i32", function() return sort(i, 1) end)
row("sort f64", function() return sort(d, 1) end)
row("sort i64", function() return sort(long, 1) end)
row("sort rows of 1024", function() return sort(m, 2) end)
row("sort columns of 1024", function() return sort(m, 1) end)
row("sort rows of 16", function() return sort(narrow, 2) end)
row("argsort f32", function() return argsort(x, 1) end)
row("argsort f64", function() return argsort(d, 1) end)
row("argsort rows of 1024", function() return argsort(m, 2) end)
row("top 10", function() return core.argtopk0(x, 1, 10, true) end)
row("top 10, sorted", function() return core.argtopk0(sorted, 1, 10, true) end)
row("top 1000", function() return core.argtopk0(x, 1, 1000, true) end)
row("cumsum", function() return core.scan("cumsum", x, 1) end)
row("cumprod", function() return core.scan("cumprod", x, 1) end)
row("cumsum of rows", function() return core.scan("cumsum", m, 2) end)
row("cumsum of columns", function() return core.scan("cumsum", m, 1) end)
row("nonzero", function() return core.nonzero0(mask, n) end)
row("gather, axis 1", function() return core.gather0(m, at, 1) end)
row("gather, axis 2", function() return core.gather0(m, at, 2) end)
row("scatter_add", function() return core.scatter_add0(m, at, m, 2) end)
