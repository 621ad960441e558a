-- What the columns of tensors are like: for tsh.stats and :stats.
local core = require "tsh.core"
local print_table = require("tsh.grid").print

local stats = {}

local MOST = 20 -- columns that are told one by one

-- ---- measuring -------------------------------------------------------------

-- The median of the finite elements of each column: they come first in order.
local function median_of(wide, good, n)
  local sorted = sort(where(good, wide, math.huge), 1)
  local function at(position)
    return gather(sorted, maximum(position, 1):reshape(1, -1), 1)
  end
  return (at((n + 1) // 2) + at((n + 2) // 2)):reshape(-1) / 2
end

-- Of x [rows, columns], rows > 0, one tensor [columns] for each number; nothing
-- is computed yet.
local function record(x, with_median)
  local wide = x:to("f64")
  local good = wide:isfinite()
  local n = good:sum(1)
  local mean = where(good, wide, 0):sum(1) / n
  local off = where(good, wide - mean, 0)
  local whole = not x.dtype:find("f")
  return { nan = wide:isnan():sum(1), inf = wide:isinf():sum(1),
    zeros = x:eq(0):sum(1), finite = n, mean = mean,
    std = ((off * off):sum(1) / (n - 1)):sqrt(),
    -- Beyond 2^53 the way through f64 would show another integer.
    min = whole and x:min(1) or where(good, wide, math.huge):min(1),
    max = whole and x:max(1) or where(good, wide, -math.huge):max(1),
    median = with_median and median_of(wide, good, n) or nil }
end

-- The numbers of column i; what there are too few elements for is nil.
local function column(found, i, rows)
  local r = { count = rows }
  for k, list in pairs(found) do r[k] = list[i] end -- order-free
  if r.finite == 0 then r.mean, r.min, r.max, r.median = nil end
  if r.finite < 2 then r.std = nil end
  return r
end

local function read(found)
  local lists = {}
  for k, v in pairs(found) do lists[k] = v:table() end -- order-free
  return lists
end

local NOTHING = { nan = { 0 }, inf = { 0 }, zeros = { 0 }, finite = { 0 } }

local function is_table(x)
  return #x.shape == 2 and x.shape[1] > 1 and x.shape[2] > 1
    and x.shape[2] <= MOST
end

--- tsh.stats(x, names): what the elements of a tensor are like: a table with
--- count, nan, inf and zeros (how many there are), and min, mean, max, std of
--- those that are finite; nil where there are none. Of a table, 2 rows at least
--- and 2 to 20 columns, median as well, and columns: a list of the same for each
--- column, with its name where names, a list as read gives it, are given.
--- Example: tsh.stats(tensor{1.0, 2.0, 3.0}).mean --> 2.0
function stats.stats(x, names)
  if not core.is_tensor(x) then
    core.fail("stats: takes a tensor, got " .. core.kind(x))
  end
  local count = core.count(x)
  if count == 0 then return column(NOTHING, 1, 0) end
  x = x:detach()
  if x.dtype == "bool" then x = x:to("i64") end
  local by_column = is_table(x) and record(x, true)
  local all = record(x:reshape(count, 1), by_column and true)
  local r = column(read(all), 1, count)
  if not by_column then return r end
  by_column, r.columns = read(by_column), {}
  for i = 1, x.shape[2] do
    r.columns[i] = column(by_column, i, x.shape[1])
    r.columns[i].name = names and rawget(names, i)
  end
  return r
end

-- ---- showing ---------------------------------------------------------------

local function number_text(v)
  return not v and "-" or math.type(v) == "integer" and tostring(v)
    or ("%.6g"):format(v)
end

local function print_one(r)
  local rows = { {}, {} }
  for i, k in ipairs { "count", "min", "mean", "max", "std", "nan", "inf",
    "zeros" } do
    rows[1][i] = k:upper()
    rows[2][i] = number_text(r[k])
  end
  print_table(rows)
end

-- Numbers stand below each other from the right.
local function align(rows)
  for c = 2, #rows[1] do
    local width = 0
    for _, r in ipairs(rows) do width = math.max(width, #r[c]) end
    for _, r in ipairs(rows) do r[c] = (" "):rep(width - #r[c]) .. r[c] end
  end
  return rows
end

-- One row for each column, and one for all; inf where there are any.
local function print_columns(r)
  local fields = { "count", "nan", "mean", "std", "min", "median", "max" }
  if r.inf > 0 then table.insert(fields, 3, "inf") end
  local rows = { { "COLUMN" } }
  local function add(name, of)
    local row = { name }
    for _, k in ipairs(fields) do row[#row + 1] = number_text(of[k]) end
    rows[#rows + 1] = row
  end
  for _, k in ipairs(fields) do -- median() itself takes the lower of two
    table.insert(rows[1], k == "median" and "50 %" or k:upper())
  end
  for i, of in ipairs(r.columns) do add(of.name or tostring(i), of) end
  add("all", r)
  print_table(align(rows))
end

-- values: of an expression, where the names of columns may stand behind their
-- tensor, as read gives them.
function stats.print(values)
  local i = 1
  repeat
    local names = values[i + 1]
    local named = type(names) == "table" and type(rawget(names, 1)) == "string"
    local r = stats.stats(values[i], named and names or nil)
    if r.columns then print_columns(r) else print_one(r) end
    i = i + (named and 2 or 1)
  until i > values.n
end

return stats
