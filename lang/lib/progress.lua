-- names: progress
--
-- How far a loop is, on the last line of the terminal: drawn only when the loop
-- takes longer than a second, and never into a file. There, and at the end, one
-- line says what was done.
local core = require "tsh.core"

local SHOW_AFTER, SHOW_EVERY = 1, 0.1 -- seconds
local KNOWN = { label = true, total = true, unit = true }

-- ---- text ------------------------------------------------------------------

-- 60000 -> 60,000
local function grouped(n)
  local s = ("%.0f"):format(n)
  local more
  repeat
    s, more = s:gsub("^(%d+)(%d%d%d)", "%1,%2")
  until more == 0
  return s
end

local function number_text(n)
  return n >= 100 and grouped(n) or ("%.3g"):format(n)
end

local function time_text(seconds)
  local s = math.ceil(seconds)
  if s < 3600 then return ("%d:%02d"):format(s // 60, s % 60) end
  return ("%d:%02d:%02d"):format(s // 3600, s // 60 % 60, s % 60)
end

-- A value that the user wants to see; a tensor of one element is its number.
local function value_text(v)
  if core.is_tensor(v) then
    local ok, number = pcall(v.item, v)
    v = ok and number or tostring(v.dtype)
  end
  return math.type(v) == "float" and ("%.4g"):format(v) or tostring(v)
end

local function shown_text(shown)
  local parts = {}
  for _, name in ipairs(shown) do
    parts[#parts + 1] = name .. " " .. value_text(shown[name])
  end
  return parts
end

local utf8_terminal = (os.getenv("LC_ALL") or os.getenv("LC_CTYPE")
  or os.getenv("LANG") or ""):lower():find("utf%-?8") ~= nil

local function bar_text(part, width)
  local full = math.floor(part * width + 0.5)
  local done, rest = "#", "."
  if utf8_terminal then done, rest = "━", "─" end
  return done:rep(full) .. rest:rep(width - full)
end

-- The parts that fit; the first two in any case, which are cut where they must.
local function fitting(parts, width)
  local text = table.concat(parts, "  ", 1, math.min(#parts, 2))
  for i = 3, #parts do
    local more = text .. "  " .. parts[i]
    if core.columns(more) > width then break end
    text = more
  end
  return text
end

-- ---- one loop --------------------------------------------------------------

-- What is known of a bar; kept apart, as fields of a bar are what it shows.
local states = setmetatable({}, { __mode = "k" })

local function line_of(s, now, width)
  local parts, spent = {}, now - s.begun
  parts[#parts + 1] = s.label
  local part = s.total and s.total > 0 and math.min(s.done / s.total, 1)
  if part then
    parts[#parts + 1] = ("%3.0f%%"):format(part * 100)
    if width >= 60 then
      parts[#parts + 1] = bar_text(part, math.min(width // 4, 30))
    end
  else
    parts[#parts + 1] = grouped(s.done) .. " " .. s.unit
  end
  parts[#parts + 1] = number_text(s.done / spent) .. " " .. s.unit .. "/s"
  if part and part > 0 then
    parts[#parts + 1] = time_text(spent * (1 - part) / part) .. " left"
  end
  table.move(shown_text(s.shown), 1, #s.shown, #parts + 1, parts)
  return fitting(parts, width)
end

local function draw(s)
  local now = core.clock()
  if now - s.begun < SHOW_AFTER or now - s.seen < SHOW_EVERY then return end
  s.seen = now
  local width = core.bar_width()
  if width and s.done > 0 then core.bar_draw(line_of(s, now, width)) end
end

-- The loop has come to its end: one line says what it was.
local function finish(s)
  if s.ended then return end
  s.ended = true
  core.bar_clear()
  local spent = core.clock() - s.begun
  if core.bar_width() and spent < SHOW_AFTER then return end
  local text = ("%s%s %s in %.3g s (%s/s)"):format(s.label and s.label .. ": "
    or "", grouped(s.done), s.unit, spent, number_text(s.done / spent))
  core.bar_note(table.concat({ text, table.unpack(shown_text(s.shown)) }, ", "))
end

local function step(s, ...)
  if (...) == nil then
    finish(s)
    return nil
  end
  s.last = s.size and s.size(...) or 1
  return ...
end

local meta = {
  __name = "progress",
  __call = function(bar)
    local s = states[bar]
    s.done, s.last = s.done + s.last, 0
    draw(s)
    return step(s, s.source())
  end,
  __newindex = function(bar, name, value)
    local shown = states[bar].shown
    if shown[name] == nil then shown[#shown + 1] = name end
    shown[name] = value
  end,
  __index = function(bar, name) return states[bar].shown[name] end,
  -- A loop that was left by break or an error is not told as done.
  __close = function(bar)
    local s = states[bar]
    local close = (getmetatable(s.source) or {}).__close
    s.ended = true
    core.bar_clear()
    if close then close(s.source) end
  end,
}

-- ---- what is walked over ---------------------------------------------------

local function count_to(n)
  local i = 0
  return function()
    if i >= n then return nil end
    i = i + 1
    return i
  end
end

local function over_list(list)
  local i = 0
  return function()
    i = i + 1
    if list[i] == nil then return nil end
    return i, list[i]
  end
end

-- The rows of the first tensor that a step gives.
local function rows_of(x) return core.is_tensor(x) and x.shape[1] or 1 end

local function is_batches(source)
  return type(source) == "table" and math.type(source.rows) == "integer"
    and getmetatable(source) and getmetatable(source).__call
end

-- The iterator of a source, how much there is, in what unit, and how much one
-- step is.
local function walk(source)
  if math.type(source) == "integer" then
    return count_to(source), source, "steps"
  elseif is_batches(source) then
    return source, source.rows, "examples", rows_of
  elseif type(source) == "function" then
    return source, nil, "steps"
  elseif type(source) == "table" then
    return over_list(source), #source, "steps"
  end
  core.fail(("progress: argument 1 must be a number of steps, a list, an "
    .. "iterator or data.batches(...), got %s"):format(core.kind(source)))
end

local function check_options(options)
  if type(options) == "string" then return { label = options } end
  if options == nil then return {} end
  if type(options) ~= "table" then
    core.fail("progress: argument 2 must be a label or a table of options, got "
      .. core.kind(options))
  end
  for k in pairs(options) do -- order-free
    if not KNOWN[k] then
      core.fail(("progress: unknown option '%s'"):format(tostring(k)),
        "it has: label total unit")
    end
  end
  return options
end

--- progress(source, label) or progress(source, {label=, total=, unit=}): walks
--- over source, which is a number of steps n (gives 1..n), a list (gives i,
--- value), data.batches(...) or any iterator function, and shows on stderr how
--- far it is: part done, examples or steps per second, time left. On a terminal
--- this is a bar, drawn when the loop takes longer than a second; elsewhere, and
--- at the end, one line. What is assigned to a field of the bar is shown, too; a
--- tensor of one element is read only when it is drawn.
--- Example: for xb, yb in progress(data.batches(x, y, 32, epoch), "epoch 1") do end
local function progress(source, options)
  options = check_options(options)
  local s = { label = options.label, done = 0, last = 0, shown = {} }
  s.source, s.total, s.unit, s.size = walk(source)
  s.total, s.unit = options.total or s.total, options.unit or s.unit
  s.begun = core.clock()
  s.seen = s.begun
  local bar = setmetatable({}, meta)
  states[bar] = s
  return bar, nil, nil, bar
end

return { progress = progress }
