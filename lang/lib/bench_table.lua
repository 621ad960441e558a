-- A measurement as a table for people. Of all samples are the average and the
-- 99th percentile; the deviation leaves outliers out, which a note counts.
local core = require "tsh.core"
local stats = require "tsh.bench_stats"

local utf8_screen = (os.getenv("LC_ALL") or os.getenv("LC_CTYPE")
  or os.getenv("LANG") or ""):lower():find("utf%-?8") ~= nil

local screen = {}

-- ---- numbers ---------------------------------------------------------------

local UNITS = { { "s", 1 }, { "ms", 1e-3 }, { utf8_screen and "µs" or "us",
  1e-6 }, { "ns", 1e-9 } }
local NAMED = { s = 1, ms = 2, us = 3, ["µs"] = 3, ns = 4 }
screen.is_unit = function(name) return NAMED[name] ~= nil end

local function three_digits(v)
  if v >= 99.95 then return ("%.0f"):format(v) end
  if v >= 9.995 then return ("%.1f"):format(v) end
  return ("%.2f"):format(v)
end

-- The number of the unit in which a time has one to three digits.
local function unit_of(seconds)
  for i, u in ipairs(UNITS) do
    if seconds >= u[2] * 0.9995 or i == #UNITS then return i end
  end
end

-- unit: a name, or a number by unit_of.
local function time_text(seconds, unit)
  local u = UNITS[NAMED[unit] or unit or unit_of(seconds)]
  return three_digits(seconds / u[2]) .. " " .. u[1]
end
screen.time_text = time_text

local function count_text(v)
  for _, u in ipairs({ { " G", 1e9 }, { " M", 1e6 }, { " K", 1e3 } }) do
    if v >= u[2] then return three_digits(v / u[2]) .. u[1] end
  end
  return three_digits(v)
end

local function bytes_text(v)
  if v < 1000 then return ("%.0f B"):format(v) end
  return count_text(v):gsub(" K$", " k") .. "B"
end
screen.bytes_text = bytes_text

-- 5000 -> "5,000"
local function grouped(n)
  local s, more = ("%d"):format(n), 0
  repeat s, more = s:gsub("^(%d+)(%d%d%d)", "%1,%2") until more == 0
  return s
end

local function percent(v)
  return (utf8_screen and "±" or "+-") .. ("%.1f%%"):format(v * 100)
end

-- Characters, not bytes.
local function pad_left(s, width)
  return (" "):rep(width - (utf8.len(s) or #s)) .. s
end

local function pad_right(s, width)
  return s .. (" "):rep(width - (utf8.len(s) or #s))
end

-- ---- notes -----------------------------------------------------------------

local UNSURE = 0.05 -- half of an interval that is worth a note
local MATTER = 1.5  -- outliers that make the deviation so much larger, too

-- What is worth telling of a row, by kind: one note for all rows that have it.
-- text(r): what stands behind the row's name, or nil; detail: with -x only.
local KINDS = {
  { lead = "noisy: the median may be off; measure longer, or when the machine "
    .. "is quiet", text = function(r)
    if stats.width(r.stats) > UNSURE then return percent(stats.width(r.stats)) end
  end },
  { lead = "outliers, in the average, not in the deviation", text = function(r)
    local s = r.stats
    if s.outliers == 0 or s.deviation_all < MATTER * s.deviation
      or s.deviation_all < UNSURE then
      return nil
    end
    return ("%s of %s samples, up to %s"):format(grouped(s.outliers),
      grouped(s.samples), time_text(s.max))
  end },
  { lead = "the first run took longer, and is not counted", detail = true,
    text = function(r)
    if r.first > 20 * r.each and r.first > 1e-3 then
      return time_text(r.first)
    end
  end },
  { lead = "very fast: a sample is several calls", detail = true,
    text = function(r)
    if r.reps > 1 then return ("%d calls"):format(r.reps) end
  end },
}

-- Sentences about the rows; extended: with the details.
function screen.notes_of(rows, extended)
  local notes = {}
  for _, kind in ipairs(KINDS) do
    local parts = {}
    for _, r in ipairs((extended or not kind.detail) and rows or {}) do
      local text = kind.text(r)
      if text then
        parts[#parts + 1] = (#rows > 1 and r.name .. " " or "") .. text
      end
    end
    if #parts > 0 then
      notes[#notes + 1] = ("%s (%s)"):format(kind.lead,
        table.concat(parts, "; "))
    end
  end
  return notes
end

-- ---- lines -----------------------------------------------------------------

local function widest(rows, head)
  local width = #head
  for _, r in ipairs(rows) do
    width = math.max(width, utf8.len(r.name) or #r.name)
  end
  return width
end

local function head_line(result)
  local names, parts, o = {}, {}, result.options
  for k in pairs(result.used) do names[#names + 1] = k end -- order-free
  table.sort(names)
  for _, k in ipairs(names) do
    parts[#parts + 1] = ("%s: %s"):format(k, core.describe(result.used[k]))
  end
  return ("%s   %s%s, warm-up %g s, %g s each, clock cost %s removed"):format(
    result.title, #parts > 0 and table.concat(parts, ", ") .. "   " or "",
    o.async and "recorded only" or o.cold and "cold, plans made anew" or "sync",
    o.warmup, o.time, time_text(result.clock))
end

-- ---- columns ---------------------------------------------------------------
-- Each: its title, its width, what it says of a row, and when it is left out of
-- a window that is too narrow: 1 first; without a number never.

local PLAIN = {
  { "ips", 10, function(r) return count_text(1 / r.stats.median) end, 3 },
  { "average", 11, function(r, u) return time_text(r.stats.mean, u) end, 6 },
  { "deviation", 11, function(r) return percent(r.stats.deviation) end, 2 },
  { "median", 11, function(r, u) return time_text(r.stats.median, u) end },
  { "95 %", 8, function(r) return percent(stats.width(r.stats)) end, 5 },
  { "99th %", 11, function(r, u) return time_text(r.stats.p99, u) end, 1 },
  { "kernels", 9, function(r) return ("%g"):format(r.work.kernels) end, 4 },
}

local EXTENDED = {
  { "minimum", 11, function(r, u) return time_text(r.stats.min, u) end },
  { "maximum", 11, function(r, _, u) return time_text(r.stats.max, u) end, 6 },
  { "samples", 9, function(r) return ("%d"):format(r.stats.samples) end, 7 },
  { "outliers", 10, function(r) return ("%d"):format(r.stats.outliers) end, 5 },
  { "allocated", 11, function(r) return bytes_text(r.work.bytes_allocated) end,
    4 },
  { "moved", 8, function(r) return bytes_text(r.work.bytes_moved) end, 3 },
  { "hits", 6, function(r) return ("%g"):format(r.work.plan_hits) end, 1 },
  { "misses", 8, function(r) return ("%g"):format(r.work.plan_misses) end, 2 },
}

-- The columns that fit into so much room.
local function fitting(columns, room)
  local kept, used = table.move(columns, 1, #columns, 1, {}), 0
  for _, c in ipairs(kept) do used = used + c[2] end
  for turn = 1, #columns do
    for i, c in ipairs(kept) do
      if used > room and c[4] == turn then
        used = used - c[2]
        table.remove(kept, i)
        break
      end
    end
  end
  return kept, used
end

-- Appends the lines of a table. A name that leaves no room for the columns that
-- are never left out stands on a line of its own.
local function add_table(lines, columns, rows, width, result)
  local kept, used = fitting(columns, result.width - width)
  local apart = width + used > result.width
  if apart then kept = fitting(columns, result.width - 2) end
  local function add(name, cell)
    if apart then lines[#lines + 1] = name end
    local parts = { apart and "  " or pad_right(name, width) }
    for i, c in ipairs(kept) do parts[i + 1] = pad_left(cell(c), c[2]) end
    lines[#lines + 1] = table.concat(parts)
  end
  add("Name", function(c) return c[1] end)
  for _, r in ipairs(rows) do
    local unit = result.options.unit or unit_of(r.stats.median)
    add(r.name, function(c) return c[3](r, unit, result.options.unit) end)
  end
end

-- Appends a text, divided between words where it is too long for the window.
local function add_text(lines, text, width)
  local line = ""
  for blank, word in text:gmatch("( *)([^ ]+)") do
    local longer = line .. blank .. word
    if line ~= "" and (utf8.len(longer) or #longer) > width then
      lines[#lines + 1] = line
      longer = "  " .. word
    end
    line = longer
  end
  lines[#lines + 1] = line
end

-- By medians, which a machine that is busy now and then moves least.
local function comparison(lines, rows, width, most)
  local best = rows[1]
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Comparison:"
  for _, r in ipairs(rows) do
    local text = pad_right(r.name, width)
      .. pad_left(count_text(1 / r.stats.median), 10)
    if r ~= best then
      text = ("%s - %.2fx slower +%s"):format(text,
        r.stats.median / best.stats.median,
        time_text(r.stats.median - best.stats.median))
    end
    add_text(lines, text, most)
  end
end

-- "+12.3 % [+11.0, +13.6]": of stats.change.
function screen.change_text(c)
  return ("%+.1f %% [%+.1f, %+.1f]"):format(c.by * 100, c.low * 100,
    c.high * 100)
end

local function add_changes(lines, result, rows, width, most)
  if not result.before then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("Against %s:"):format(result.options.vs)
  for _, r in ipairs(rows) do
    add_text(lines, pad_right(r.name, width) .. (r.change
      and pad_left(screen.change_text(r.change), 26) .. "  " .. r.change.verdict
      or "  was not measured then"), most)
  end
end

-- The whole table, fastest first; off a terminal its lines are whole.
function screen.text_of(result)
  local rows = table.move(result.rows, 1, #result.rows, 1, {})
  table.sort(rows, function(a, b) return a.stats.median < b.stats.median end)
  local width, lines = widest(rows, "Name"), {}
  local most = core.line_width() or math.huge
  local sheet = { width = most, options = result.options }
  add_text(lines, head_line(result), most)
  add_table(lines, PLAIN, rows, width, sheet)
  if result.options.extended then
    lines[#lines + 1] = ""
    add_table(lines, EXTENDED, rows, width, sheet)
  end
  if #rows > 1 then comparison(lines, rows, width, most) end
  add_changes(lines, result, rows, width, most)
  for _, n in ipairs(result.notes) do add_text(lines, "note: " .. n, most) end
  return table.concat(lines, "\n")
end

return screen
