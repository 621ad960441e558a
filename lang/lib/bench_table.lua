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

local function outlier_note(r)
  local s = r.stats
  if s.outliers == 0 or s.deviation_all < MATTER * s.deviation
    or s.deviation_all < UNSURE then
    return nil
  end
  return ("%s of %s samples of %s were outliers, up to %s: in the average, "
    .. "not in the deviation"):format(grouped(s.outliers), grouped(s.samples),
    r.name, time_text(s.max))
end

-- Sentences about one row.
function screen.notes_of(r)
  local notes = {}
  local function note(...) notes[#notes + 1] = string.format(...) end
  if r.first > 20 * r.each and r.first > 1e-3 then
    note("the first run of %s took %s (not counted)", r.name,
      time_text(r.first))
  end
  if r.reps > 1 then
    note("%s is very fast, %d calls per sample", r.name, r.reps)
  end
  local outliers = outlier_note(r)
  if outliers then note("%s", outliers) end
  if stats.width(r.stats) > UNSURE then
    note("%s is noisy: its median may be off by %s; measure longer, or when "
      .. "the machine is quiet", r.name, percent(stats.width(r.stats)))
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

local function row_line(r, width, unit)
  local s = r.stats
  unit = unit or unit_of(s.median)
  return table.concat({ pad_right(r.name, width),
    pad_left(count_text(1 / s.median), 10),
    pad_left(time_text(s.mean, unit), 11),
    pad_left(percent(s.deviation), 11), pad_left(time_text(s.median, unit), 11),
    pad_left(percent(stats.width(s)), 8), pad_left(time_text(s.p99, unit), 11),
    pad_left(("%g"):format(r.work.kernels), 9) })
end

local function extended_line(r, width, options_unit)
  local s, w = r.stats, r.work
  local unit = options_unit or unit_of(s.median)
  return table.concat({ pad_right(r.name, width),
    pad_left(time_text(s.min, unit), 11),
    pad_left(time_text(s.max, options_unit), 11),
    pad_left(("%d"):format(s.samples), 9),
    pad_left(("%d"):format(s.outliers), 10),
    pad_left(bytes_text(w.bytes_allocated), 11),
    pad_left(bytes_text(w.bytes_moved), 8),
    pad_left(("%g"):format(w.plan_hits), 6),
    pad_left(("%g"):format(w.plan_misses), 8) })
end

-- By medians, which a machine that is busy now and then moves least.
local function comparison(lines, rows, width)
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
    lines[#lines + 1] = text
  end
end

-- "+12.3 % [+11.0, +13.6]": of stats.change.
function screen.change_text(c)
  return ("%+.1f %% [%+.1f, %+.1f]"):format(c.by * 100, c.low * 100,
    c.high * 100)
end

local function add_changes(lines, result, rows, width)
  if not result.before then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("Against %s:"):format(result.options.vs)
  for _, r in ipairs(rows) do
    lines[#lines + 1] = pad_right(r.name, width) .. (r.change
      and pad_left(screen.change_text(r.change), 26) .. "  " .. r.change.verdict
      or "  was not measured then")
  end
end

-- The whole table, fastest first.
function screen.text_of(result)
  local rows = table.move(result.rows, 1, #result.rows, 1, {})
  table.sort(rows, function(a, b) return a.stats.median < b.stats.median end)
  local width, unit = widest(rows, "Name"), result.options.unit
  local lines = { head_line(result), pad_right("Name", width)
    .. "       ips    average  deviation     median    95 %     99th %  kernels" }
  for _, r in ipairs(rows) do
    lines[#lines + 1] = row_line(r, width, unit)
  end
  if result.options.extended then
    lines[#lines + 1] = ""
    lines[#lines + 1] = pad_right("Name", width) .. "    minimum    maximum"
      .. "  samples  outliers  allocated   moved  hits  misses"
    for _, r in ipairs(rows) do
      lines[#lines + 1] = extended_line(r, width, unit)
    end
  end
  if #rows > 1 then comparison(lines, rows, width) end
  add_changes(lines, result, rows, width)
  for _, n in ipairs(result.notes) do lines[#lines + 1] = "note: " .. n end
  return table.concat(lines, "\n")
end

return screen
