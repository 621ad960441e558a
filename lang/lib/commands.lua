-- The commands of a session that are made of Lua. A command takes the rest of
-- its line; what it finds is printed. Each has a twin in the table tsh, which
-- returns it instead.
local core = require "tsh.core"
local print_table = require("tsh.grid").print

local twins, command = {}, {}

-- ---- lines -----------------------------------------------------------------

-- "--time 1 -x softmax(x)": the options of `known` in front, and what is left.
-- known: name -> "text", "number", "list" or "flag".
local function parse(name, rest, known)
  local options = {}
  while true do
    local dashes, word, after = rest:match("^(%-%-?)([%a][%w-]*)%s*(.*)$")
    if not dashes or (dashes == "-" and #word > 1) then break end
    local kind = known[word]
    if not kind then
      core.fail((":%s: unknown option %s%s"):format(name, dashes, word),
        ":help " .. name)
    end
    if kind == "flag" then
      options[word], rest = true, after
    else
      local value, more = after:match('^"([^"]*)"%s*(.*)$')
      if not value then value, more = after:match("^(%S+)%s*(.*)$") end
      if not value then
        core.fail((":%s: --%s needs a value"):format(name, word))
      end
      if kind == "number" and not tonumber(value) then
        core.fail((":%s: --%s needs a number, not '%s'"):format(name, word,
          value))
      end
      if kind == "number" then value = tonumber(value) end
      if kind == "list" then
        options[word] = options[word] or {}
        value = table.move({ value }, 1, 1, #options[word] + 1, options[word])
      end
      options[word], rest = value, more
    end
  end
  return options, rest
end

local function need(name, rest, what)
  if rest == "" then core.fail((":%s needs %s"):format(name, what)) end
  return rest
end

local function load_expression(name, code)
  local f, why = load("return " .. code, "=" .. name)
  if not f then core.fail((why:gsub("^" .. name .. ":%d+: ", ""))) end
  core.show_source(name, code)
  return f
end

local function need_function(name, f)
  local meta = getmetatable(f)
  if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
    core.fail(("tsh.%s: takes a function, got %s"):format(name, core.kind(f)))
  end
end

local function bytes_text(v)
  local units = { " B", " kB", " MB", " GB", " TB" }
  local i = 1
  while v >= 1000 and i < #units do v, i = v / 1000, i + 1 end
  return (i == 1 and "%.0f" or v < 9.95 and "%.1f" or "%.0f"):format(v)
    .. units[i]
end

local function bytes_of(x) return core.count(x) * core.dtype_bytes(x.dtype) end

-- ---- :bench ----------------------------------------------------------------

twins.bench = function(options) return require("tsh.bench").bench(options) end

function command.bench(rest)
  local line = require "tsh.bench_line"
  local function refuse(text, hint)
    core.fail(":bench: " .. text, hint or ":help bench")
  end
  local given, code = line.of_text(rest, refuse)
  local job = line.expressions(need("bench", code, "an expression"))
  require("tsh.bench").bench_and_print(line.apply(job, given, refuse))
end

-- ---- :time, :type ----------------------------------------------------------

--- tsh.time(f, ...): calls f once and computes what it returns; a table with
--- wall and cpu (seconds) and the counters that changed, then the results.
--- Example: tsh.time(function() return rand(100):sum() end).wall
function twins.time(f, ...)
  need_function("time", f)
  local before = tsh.counters()
  local wall, cpu = core.clocks()
  local results = table.pack(core.bench_wait(f(...)))
  local wall2, cpu2 = core.clocks()
  local after = tsh.counters()
  local took = { wall = wall2 - wall, cpu = cpu2 - cpu }
  for k, v in pairs(after) do -- order-free
    if type(v) == "number" then took[k] = v - before[k] end
  end
  return took, table.unpack(results, 1, results.n)
end

local function plural(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

function command.time(rest)
  local f = load(rest, "=time") -- `for ... end` is no expression
  if f and rest ~= "" and not load("return " .. rest) then
    core.show_source("time", rest)
  else
    f = load_expression("time", need("time", rest, "an expression"))
  end
  local t = twins.time(f)
  local time_text = require("tsh.bench").time_text
  local parts = { "wall " .. time_text(t.wall), "cpu " .. time_text(t.cpu),
    plural(t.kernels, "kernel") }
  if t.plan_misses > 0 then
    parts[#parts + 1] = plural(t.plan_misses, "plan") .. " made"
  end
  if t.programs > 0 then
    parts[#parts + 1] = plural(t.programs, "program") .. " compiled"
  end
  if t.bytes_moved > 0 then
    parts[#parts + 1] = bytes_text(t.bytes_moved) .. " moved"
  end
  core.say(table.concat(parts, ", "))
end

-- How many launches a tensor would take; nil when it is there already.
local function launches_of(x)
  local text = tsh.plan(x)
  return tonumber(text:match("(%d+) launch[es]* %("))
end

--- tsh.type(x): what a value is, computing nothing: text. For a tensor dtype,
--- shape, device, bytes, and the launches that it would take.
--- Example: tsh.type(zeros(2, 3) + 1)
function twins.type(x)
  if not core.is_tensor(x) then
    return type(x) == "table" and "table" or core.kind(x)
  end
  local n = core.is_ready(x) and 0 or launches_of(x) or 0
  local shape = core.describe(x):gsub(" @.*$", "")
  return ("%s  %s  %s%s"):format(shape, x.device, bytes_text(bytes_of(x)),
    n > 0 and ("  (%s if run)"):format(n == 1 and "1 launch"
    or n .. " launches") or "")
end

function command.type(rest)
  local f = load_expression("type", need("type", rest, "an expression"))
  local values = table.pack(f())
  for i = 1, values.n do print(twins.type(values[i])) end
end

-- ---- :check ----------------------------------------------------------------

--- tsh.check(f, ...): calls f and computes nothing, not even where f asks for a
--- value: that is an error. What tsh.type says of each result, as a list.
--- tsh check FILE checks a whole script.
--- Example: tsh.check(function() return zeros(2, 3) + 1 end)[1]
function twins.check(f, ...)
  need_function("check", f)
  local results, list = table.pack(core.refused(f, ...)), {}
  for i = 1, results.n do list[i] = twins.type(results[i]) end
  return list
end

function command.check(rest)
  local f = load_expression("check", need("check", rest,
    "a file or an expression"))
  for _, text in ipairs(twins.check(f)) do print(text) end
end

-- ---- :who, :mem ------------------------------------------------------------

local STANDARD = {}
for w in ([[_G _VERSION assert collectgarbage coroutine debug dofile error
getmetatable io ipairs load loadfile math next os package pairs pcall print
rawequal rawget rawlen rawset require select setmetatable string table tonumber
tostring type utf8 warn xpcall arg tsh out on_interrupt _]]):gmatch("%S+") do
  STANDARD[w] = true
end

-- Names of the user's globals that contain the pattern, in their order.
local function user_names(pattern)
  local names = {}
  for k, v in pairs(core.globals()) do -- order-free
    if type(k) == "string" and not STANDARD[k] and not core.is_ours(k, v)
      and (pattern == "" or k:find(pattern)) then
      names[#names + 1] = k
    end
  end
  table.sort(names)
  return names
end

local function count_fields(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end -- order-free
  return n
end

--- tsh.who(pattern): the globals that the user has made: a list of tables with
--- name, type, and for tensors shape, device, bytes.
--- Example: for _, g in ipairs(tsh.who()) do print(g.name, g.type) end
function twins.who(pattern)
  local list, globals = {}, core.globals()
  for i, name in ipairs(user_names(pattern or "")) do
    local v = globals[name]
    if core.is_tensor(v) then
      list[i] = { name = name, type = v.dtype, shape = tostring(v.shape),
        device = v.device, bytes = bytes_of(v) }
    else
      list[i] = { name = name, type = type(v) == "table" and "table"
        or math.type(v) or type(v), fields = type(v) == "table"
        and count_fields(v) or nil }
    end
  end
  return list
end

function command.who(rest)
  local rows = { { "NAME", "TYPE", "SHAPE", "DEVICE", "BYTES" } }
  for i, g in ipairs(twins.who(rest)) do
    rows[i + 1] = { g.name, g.type, g.shape or g.fields
      and plural(g.fields, "field") or "", g.device or "",
      g.bytes and bytes_text(g.bytes) or "" }
  end
  if #rows == 1 then
    print(rest == "" and "nothing yet" or "nothing like '" .. rest .. "'")
  else
    print_table(rows)
  end
end

-- Names of the tensors that globals hold, or fields of theirs.
local function names_by_id()
  local names, globals = {}, core.globals()
  local seen = {}
  local function look(v, name, depth)
    if core.is_tensor(v) then
      local id = core.id(v)
      names[id] = names[id] or name
    elseif type(v) == "table" and depth < 4 and not seen[v] then
      seen[v] = true
      for k, field in pairs(v) do -- order-free
        look(field, type(k) == "string" and name .. "." .. k
          or ("%s[%s]"):format(name, tostring(k)), depth + 1)
      end
    end
  end
  for _, name in ipairs(user_names("")) do look(globals[name], name, 0) end
  -- The results of a session, also those that it does not keep alive.
  local results = rawget(globals, "out")
  local meta = type(results) == "table" and getmetatable(results)
  look(results, "out", 0)
  if type(meta) == "table" then look(meta.__index, "out", 0) end
  return names
end

--- tsh.mem(): memory of every device in use (name, total, used, cached, peak,
--- limit) and the computed tensors, the largest first (text, bytes, name, place).
--- Example: print(tsh.mem().devices[1].used)
function twins.mem()
  local names, tensors = names_by_id(), {}
  for _, t in ipairs(core.live()) do
    if t.bytes > 0 then
      t.name = names[t.id]
      tensors[#tensors + 1] = t
    end
  end
  table.sort(tensors, function(a, b)
    if a.bytes ~= b.bytes then return a.bytes > b.bytes end
    return (a.name or a.place) < (b.name or b.place)
  end)
  return { devices = core.memory(), tensors = tensors }
end

local SHOWN = 10

function command.mem(rest)
  if rest == "trim" then
    tsh.collect()
    core.trim()
  elseif rest ~= "" and rest ~= "--all" then
    core.fail((":mem takes trim or --all, not '%s'"):format(rest))
  end
  local m = twins.mem()
  local rows = { { "DEVICE", "USED", "CACHED", "PEAK", "TOTAL" } }
  for i, d in ipairs(m.devices) do
    rows[i + 1] = { d.name, bytes_text(d.used), bytes_text(d.cached),
      bytes_text(d.peak), d.limit and bytes_text(d.limit) .. " (limit)"
      or d.total > 0 and bytes_text(d.total) or "-" }
  end
  print_table(rows)
  if #m.tensors == 0 then return end
  rows = { { "NAME", "TENSOR", "BYTES", "MADE AT" } }
  local n = rest == "--all" and #m.tensors or math.min(#m.tensors, SHOWN)
  for i = 1, n do
    local t = m.tensors[i]
    rows[i + 1] = { t.name or "-", t.text, bytes_text(t.bytes), t.place }
  end
  print("")
  print_table(rows)
  if n < #m.tensors then
    print(("and %d more (:mem --all)"):format(#m.tensors - n))
  end
end

-- ---- :plan -----------------------------------------------------------------

local PLAN = { run = "flag", source = "flag", dot = "text" }

function command.plan(rest)
  local o, code = parse("plan", rest, PLAN)
  local f = load_expression("plan", need("plan", code, "an expression"))
  local tensors = {}
  for _, x in ipairs({ f() }) do
    if core.is_tensor(x) then tensors[#tensors + 1] = x end
  end
  if #tensors == 0 then
    core.fail("plan: the expression gives no tensor")
  end
  tensors[#tensors + 1] = { run = o.run, source = o.source, dot = o.dot ~= nil }
  local text = tsh.plan(table.unpack(tensors))
  if not o.dot then
    -- The last column goes on below itself.
    local last = text:match("^([^\n]* )%S+\n")
    return core.say(text:gsub("\n$", ""), last and #last or 4)
  end
  local file, why = io.open(o.dot, "w")
  if not file then core.fail("plan: " .. why) end
  file:write(text)
  file:close()
end

-- ---- :set, :unset -----------------------------------------------------------

local function set_all(options, before)
  for name, value in pairs(options) do -- order-free
    if type(value) == "table" then
      set_all(value, before .. tostring(name) .. ".")
    else
      core.set(before .. tostring(name), value)
    end
  end
end

--- tsh.set(name, value), tsh.set{name = value}: changes settings of the
--- session, print.precision for example; without a value back to the default.
--- tsh.set() is the list of all: tables with name, value, default, takes, doc.
--- Example: tsh.set("print.precision", 2); print(tensor{0.5})
---   --> f32[1] [0.50]
function twins.set(name, value)
  if name == nil then return core.settings() end
  if type(name) == "table" then
    set_all(name, "")
  elseif value == nil then
    core.unset(name)
  else
    core.set(name, value)
  end
end

local function print_settings(name)
  local rows = { { "SETTING", "VALUE", "DEFAULT", "MEANING" } }
  for _, s in ipairs(core.settings()) do
    if not name or s.name == name or s.name:match("%.(.+)$") == name then
      rows[#rows + 1] = { s.name, tostring(s.value), tostring(s.default),
        s.doc }
    end
  end
  if #rows == 1 then core.unset(name) end -- says what is wrong with the name
  print_table(rows)
end

function command.set(rest)
  local name, value = rest:match("^(%S+)%s*(.*)$")
  if not name or value == "" then return print_settings(name) end
  core.set(name, value)
end

function command.unset(rest)
  core.unset(need("unset", rest, "the name of a setting"))
end

-- ---- :stats ----------------------------------------------------------------

twins.stats = function(...) return require("tsh.stats").stats(...) end

function command.stats(rest)
  local f = load_expression("stats", need("stats", rest, "an expression"))
  require("tsh.stats").print(table.pack(f()))
end

-- ---- :apropos, :load -------------------------------------------------------

--- tsh.apropos(word): functions, commands of a session, settings, topics of
--- the guide and functions of Lua that mention the word, and what has it as its
--- name in NumPy or PyTorch: a list of {name, first line}.
--- Example: for _, e in ipairs(tsh.apropos("norm")) do print(e[1]) end
function twins.apropos(word)
  local found = {}
  word = word:lower()
  -- more: what is searched, too, and not shown
  local function look(name, text, more)
    if (name .. " " .. text .. " " .. (more or "")):lower():find(word, 1, true)
    then
      found[#found + 1] = { name, text }
    end
  end
  for _, e in ipairs(core.documented()) do look(e[1], e[2]) end
  for _, e in ipairs(core.commands()) do look(e[1], e[2]) end
  for _, e in ipairs(core.lua_names()) do look(e[1], e[2]) end
  for _, e in ipairs(core.topics()) do look(table.unpack(e)) end
  for _, s in ipairs(core.settings()) do
    look(s.name, ":set, " .. s.doc, "setting " .. (s.name:find("^print")
      and "format" or ""))
  end
  for _, e in ipairs(core.synonyms()) do
    if e[1]:lower():find(word, 1, true) then found[#found + 1] = e end
  end
  table.sort(found, function(a, b) return a[1] < b[1] end)
  return found
end

local function print_found(found, most)
  local rows = {}
  for i, e in ipairs(found) do
    if i > most then break end
    rows[i] = { e[1], #e[2] > 56 and e[2]:sub(1, 53) .. "..." or e[2] }
  end
  print_table(rows)
end

function command.apropos(rest)
  local found = twins.apropos(need("apropos", rest, "a word"))
  if #found == 0 then
    core.fail(("nothing about '%s'"):format(rest), ":help language lists topics")
  end
  print_found(found, #found)
end

-- Entries that mention all of the words, or else one of them.
local function apropos_any(text)
  local words, seen, all, any = {}, {}, {}, {}
  for w in text:gmatch("%S+") do
    if #w > 2 then words[#words + 1] = w end
  end
  for _, w in ipairs(words) do
    for _, e in ipairs(twins.apropos(w)) do
      local n = (seen[e[1]] or 0) + 1
      seen[e[1]] = n
      if n == 1 then any[#any + 1] = e end
      if n == #words then all[#all + 1] = e end
    end
  end
  return #all > 0 and all or any
end

-- What a value of the user is, in a line; computes nothing.
local function what_is(v)
  local kind = type(v)
  if core.is_tensor(v) then return twins.type(v) end
  if kind == "function" then
    local at = debug.getinfo(v, "S")
    return ("a function%s"):format(at.what == "Lua"
      and (", of %s:%d"):format(at.short_src, at.linedefined) or "")
  elseif kind == "table" then
    local names = {}
    for k in next, v do -- order-free
      if type(k) == "string" then names[#names + 1] = k end
    end
    table.sort(names)
    local few = table.concat(names, ", ", 1, math.min(#names, 8))
    return ("a table, %s%s%s"):format(plural(count_fields(v), "field"),
      few ~= "" and ": " .. few or "", #names > 8 and ", ..." or "")
  end
  local text = kind == "string" and ("%q"):format(v) or tostring(v)
  return ("a %s, %s"):format(kind, #text > 60 and text:sub(1, 57) .. "..."
    or text)
end

-- What help says of a word that it does not know: what the user's name holds,
-- or what mentions the words.
function command.nothing_on(rest)
  local name, most = rest:match("^[%a_][%w_]*$"), 20
  local v = name and rawget(core.globals(), name)
  if v ~= nil then
    print(("%s is %s"):format(name, what_is(v)))
    if core.is_tensor(v) then
      print(("  :stats %s, :full %s; methods as %s:sum(), :doc tensor lists "
        .. "them"):format(name, name, name))
    end
    return
  end
  local found = apropos_any(rest)
  if #found == 0 then
    core.fail(("no help on '%s'"):format(rest), "tsh --help and :help list "
      .. "commands, :help language the topics, :apropos WORD finds names")
  end
  print(("no help on '%s'; :apropos has:"):format(rest))
  print_found(found, most)
  if #found > most then print(("and %d more"):format(#found - most)) end
end

function command.load(rest)
  local path = need("load", rest, "a file"):gsub([[^(["'])(.*)%1$]], "%2")
  local problem = core.script_problem(path)
  if problem then core.fail((problem:gsub("^cannot run", "load:"))) end
  local f, why = loadfile(path)
  if not f then core.fail(why) end
  f()
end

-- ":save FILE NAMES": what these globals hold, tensors or tables of them.
function command.save(rest)
  local _, path, after = rest:match([[^(["'])(.-)%1%s*(.*)$]])
  if not path then path, after = rest:match("^(%S+)%s*(.*)$") end
  local values, names, globals = {}, {}, core.globals()
  for name in after:gmatch("%S+") do
    local v = globals[name]
    if v == nil then
      core.fail((":save: there is no global '%s'"):format(name), ":who lists them")
    end
    values[name], names[#names + 1] = v, name
  end
  local one = path:find("%.npy$") or path:find("%.csv$")
    or path:find("%.json$")
  if one and #names > 1 then
    core.fail((":save: %s takes one tensor, not %d"):format(path, #names),
      ".npz and .safetensors take several")
  end
  write(path, one and values[names[1]] or values)
  print(("%s in %s"):format(table.concat(names, ", "), path))
end

return { twins = twins, command = command, bytes_text = bytes_text }
