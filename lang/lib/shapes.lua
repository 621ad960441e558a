-- What tsh check tells: where a script that ran on shapes only went wrong, and
-- what it would cost. While it runs nothing outside is changed.
local core = require "tsh.core"

-- ---- what a checked script may not do ---------------------------------------

local function not_started(what)
  return function() core.check_stop(what .. " starts a program") end
end

-- Writing goes nowhere; a file that was to be written is not read either.
local function open_only(open)
  return function(path, mode)
    if type(path) == "number" then path = tostring(path) end
    if type(path) ~= "string" then return open(path, mode) end
    if not tostring(mode or "r"):find("[wa+]") then
      core.check_read(path)
      return open(path, mode)
    end
    core.check_write(path)
    return open("/dev/null", mode)
  end
end

local function leave(code)
  core.check_stop("os.exit(" .. (code == nil and "" or tostring(code)) .. ")")
end

-- Whether the script has printed, which is not shown.
local printed = false

local function noted(f)
  return function(...)
    printed = true
    return f(...)
  end
end

local function prepare()
  core.globals().print, io.write = noted(print), noted(io.write)
  local open, output = io.open, io.output
  io.open = open_only(open)
  io.output = function(to)
    if type(to) == "string" then to = io.open(to, "w") end
    return output(to)
  end
  io.popen, os.execute = not_started "io.popen", not_started "os.execute"
  os.remove = function(path) core.check_write(path) return true end
  os.rename = function(_, to) core.check_write(to) return true end
  os.tmpname = function() -- the true one makes the file
    local name = "/tmp/lua_check"
    core.check_write(name)
    return name
  end
  os.exit = leave
  core.make_folder = function() end
end

-- ---- errors as diagnostics ----------------------------------------------------

-- The place in front of a message: file, line, and what follows. A long path is
-- shortened there; that of the script is known.
local function split_place(message, path)
  local name, line, rest = message:match("^([^\n]-):(%d+): (.*)$")
  if not name then return path, nil, message end
  local short = name
  if name:sub(1, 3) == "..." and path:sub(-(#name - 3)) == name:sub(4) then
    name = path
  end
  return name, math.tointeger(line), rest, ("%s:%s: "):format(short, line)
end

-- Column of the one place where the word stands in the line, or nil.
local function find_word(source, word)
  local at = source:find(word, 1, true)
  if at and not source:find(word, at + 1, true) then return at end
end

-- What Lua says that it stumbled over.
local function word_of(what)
  return what:match("%(%a+ '([^']+)'%)") or what:match("near '([^']+)'$")
end

-- The lines behind the first: facts, the source with its caret, the hint.
local function read_rest(d, lines, place)
  local i = 1
  while i <= #lines do
    local text = lines[i]
    if place and text:sub(1, #place + 2) == "  " .. place then
      local caret = (lines[i + 1] or ""):match("^(%s*)%^$")
      local blank = #(d.source or ""):match("^%s*")
      if caret then
        d.column = #caret - #place - 2 + blank + 1
        i = i + 1
      end
    elseif text:match("^  hint: ") then
      d.hint = text:sub(9)
    else
      d.facts[#d.facts + 1] = text
    end
    i = i + 1
  end
end

local function error_of(r)
  local file, line, rest, place = split_place(r.message, r.file)
  local lines = {}
  for text in (rest .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = text end
  local d = { severity = "error", file = file, line = line,
    message = table.remove(lines, 1), hint = r.guess, facts = {} }
  d.source = line and core.source_line(file, line)
  read_rest(d, lines, place)
  if not d.column and d.source then
    local word = word_of(d.message)
    d.column = word and find_word(d.source, word)
  end
  if r.callers then d.facts[#d.facts + 1] = "  called from " .. r.callers end
  return d
end

local function note(place, message)
  local file, line = (place or ""):match("^(.*):(%d+)$")
  return { severity = "note", file = file, line = math.tointeger(line),
    message = message, facts = {} }
end

local UNKNOWN = "values, which check does not compute"

-- An error of a tensor function that the script caught and raised again is
-- still that error.
local function unwrap(r)
  if r.own and r.raised and r.message:find(r.raised, 1, true) then
    r.message, r.own = r.raised, false
  end
end

local function is_failed_exit(r)
  return r.asked == 0 and r.why:match("^os%.exit%(") and r.why ~= "os.exit()"
    and r.why ~= "os.exit(0)" and r.why ~= "os.exit(true)"
end

local function diagnostics(r)
  if r.stopped and not r.why then
    return { note(r.stopped_at, "interrupted") }
  end
  if r.why then
    local d = note(r.stopped_at, "stops here: " .. r.why)
    if is_failed_exit(r) then
      d.severity, d.message = "error", "the script leaves by " .. r.why
    end
    return { d }
  end
  if not r.message then return {} end
  unwrap(r)
  local d = error_of(r)
  if r.own and r.asked > 0 then
    r.stopped = true
    return { note(r.own_at, "stops here: it asks for " .. UNKNOWN) }
  end
  if r.asked_at then
    return { d, note(r.asked_at, "from here on it asks for " .. UNKNOWN
      .. "; the error may come of that") }
  end
  return { d }
end

-- ---- telling it ---------------------------------------------------------------

local function place_text(d)
  local parts = { d.file, d.line, d.column }
  if not d.file then return "" end
  return table.concat(parts, ":", 1, d.column and 3 or d.line and 2 or 1)
    .. ": "
end

local function write_source(d, out)
  local blank = d.source:sub(1, d.column and d.column - 1 or 0)
  local number = ("  %d"):format(d.line)
  out:write(number, " | ", d.source, "\n")
  if not d.column then return end
  out:write((" "):rep(#number), " | ", (blank:gsub("[^\t]", " ")), "^\n")
end

local function write_diagnostic(d, out)
  if d.severity == "note" then
    out:write("note: ", place_text(d), d.message, "\n")
    return
  end
  out:write(place_text(d), "error: ", d.message, "\n")
  local callers = #d.facts > 0 and d.facts[#d.facts]:match("^  called from ")
    and table.remove(d.facts)
  for _, text in ipairs(d.facts) do out:write(text, "\n") end
  if d.source then write_source(d, out) end
  if d.hint then out:write("  hint: ", d.hint, "\n") end
  if callers then out:write(callers, "\n") end
end

local function count_text(v, unit)
  local units = { "", "k", "M", "G", "T", "P" }
  local i = 1
  while v >= 1000 and i < #units do v, i = v / 1000, i + 1 end
  local form = i == 1 and "%.0f" or v < 9.95 and "%.1f" or "%.0f"
  return (form .. " %s%s"):format(v, units[i], unit):gsub("%s+$", "")
end

local REPORT = { "ops", "launches", "moves", "flops", "bytes_read",
  "bytes_written", "bytes_moved", "bytes_peak" }

local function write_report(r, errors, out)
  local function row(name, text) out:write(("%-14s%s\n"):format(name, text)) end
  out:write(("%s on %s: %s%s\n"):format(r.file, r.device, errors == 0
    and "no error found on shapes" or "1 error", (r.why or r.stopped)
    and ", not checked to its end" or ""))
  row("launches", ("%d (%d ops recorded)"):format(r.launches, r.ops))
  row("flop", count_text(r.flops, ""))
  row("reads, writes", count_text(r.bytes_read, "B") .. ", "
    .. count_text(r.bytes_written, "B"))
  if r.moves > 0 then
    row("moves", ("%d between devices, %s"):format(r.moves,
      count_text(r.bytes_moved, "B")))
  end
  local more = r.memory > 0 and r.bytes_peak > r.memory
  row("peak memory", count_text(r.bytes_peak, "B") .. (more
    and (", more than the %s of %s"):format(count_text(r.memory, "B"),
    r.device) or ""))
  if r.muted and printed then
    row("its output", "not shown; tsh -v check shows it")
  end
end

local function write_json(r, list)
  local t = { file = r.file, device = r.device, diagnostics = {}, report = {},
    complete = not r.stopped and not r.message }
  for i, d in ipairs(list) do
    t.diagnostics[i] = { severity = d.severity, file = d.file, line = d.line,
      column = d.column, message = d.message, hint = d.hint, facts = d.facts }
    for k, text in ipairs(d.facts) do d.facts[k] = text:match("^%s*(.*)$") end
  end
  for _, k in ipairs(REPORT) do t.report[k] = r[k] end
  io.stdout:write(require("tsh.json").json.encode(t), "\n")
end

-- r: what lang/bind/shapes.c knows. Was there an error?
local function finish(r)
  local list, errors = diagnostics(r), 0
  io.stdout:flush()
  for _, d in ipairs(list) do
    if d.severity == "error" then errors = errors + 1 end
    if not r.json then write_diagnostic(d, io.stderr) end
  end
  if r.json then write_json(r, list) else write_report(r, errors, io.stdout) end
  return errors > 0
end

return { prepare = prepare, finish = finish }
