-- The options of :bench, and of `tsh bench`: one list, in lang/bind/lt.h.
local core = require "tsh.core"

local line = {}

-- ---- words -----------------------------------------------------------------

-- Walks through code outside quotes; depth: of brackets. Stops where `stop`
-- says so of a character, and gives its place.
local function walk(text, at, stop)
  local depth, quote = 0, nil
  while at <= #text do
    local c = text:sub(at, at)
    if quote then
      if c == "\\" then at = at + 1 elseif c == quote then quote = nil end
    elseif depth == 0 and stop(c) then
      return at
    elseif c == '"' or c == "'" then
      quote = c
    elseif c:find("[%(%[{]") then
      depth = depth + 1
    elseif c:find("[%)%]}]") then
      depth = depth - 1
    end
    at = at + 1
  end
  return #text + 1
end

-- "f(a, b), g" -> {"f(a, b)", "g"}: commas outside brackets and quotes.
function line.expressions(text)
  local parts, from = {}, 1
  repeat
    local comma = walk(text, from, function(c) return c == "," end)
    parts[#parts + 1] = text:sub(from, comma - 1):match("^%s*(.-)%s*$")
    from = comma + 1
  until comma > #text
  return parts
end

-- The words of a line that begins with options: the first word, which may have
-- blanks in quotes or brackets, and what follows.
local function first_word(text)
  local quoted, rest = text:match('^"([^"]*)"%s*(.*)$')
  if quoted then return quoted, rest end
  local blank = walk(text, 1, function(c) return c:find("%s") end)
  return text:sub(1, blank - 1), text:sub(blank):match("^%s*(.*)$")
end

-- ---- options ---------------------------------------------------------------

local function known_words()
  local words = {}
  for i, o in ipairs(core.bench_options()) do words[i] = o.word end
  return table.concat(words, " ")
end

-- The option that a word is, and the value that sticks to it.
local function option_of(text, refuse)
  local word, value = text:match("^%-%-([^=]+)=(.*)$")
  word = word or text:match("^%-%-(.+)$")
  for _, o in ipairs(core.bench_options()) do
    if o.word == word or o.letter ~= "" and text == "-" .. o.letter then
      return o, value
    end
  end
  local near = word and core.nearest(word, known_words())
  refuse(("unknown option '%s'"):format(text),
    near and ("did you mean --%s?"):format(near) or "it has: " .. known_words())
end

local function list_of(text)
  local list = {}
  for part in text:gmatch("[^,%s]+") do list[#list + 1] = part end
  return list
end

local function set(given, o, value, refuse)
  if o.kind == "flag" then
    given[o.word] = true
  elseif o.kind == "many" then
    given[o.word] = given[o.word] or {}
    table.insert(given[o.word], value)
  elseif o.kind == "list" then
    given[o.word] = list_of(value)
    if #given[o.word] == 0 then
      refuse(("--%s needs %s"):format(o.word, o.argument))
    end
  elseif o.kind == "number" then
    given[o.word] = tonumber(value)
      or refuse(("--%s needs a number, not '%s'"):format(o.word, value))
  else
    given[o.word] = value
  end
end

local function is_option(text) return text:find("^%-%-?%a") ~= nil end

-- following(): the next word, which after an option is its value.
local function take(given, text, following, refuse)
  local o, value = option_of(text, refuse)
  if o.argument then
    value = value or following() or ""
    if value == "" or is_option(value) and not text:find("=") then
      refuse(("--%s needs %s"):format(o.word, o.argument), value ~= ""
        and ("'%s' is an option; --%s=%s if it is meant"):format(value, o.word,
          value) or nil)
    end
  elseif value then
    refuse(("--%s takes no value"):format(o.word))
  end
  set(given, o, value, refuse)
end

-- The options in front of a line, and the rest of it.
function line.of_text(rest, refuse)
  local given = {}
  local function following()
    if rest == "" then return nil end
    local word
    word, rest = first_word(rest)
    return word
  end
  while is_option(rest) do take(given, following(), following, refuse) end
  return given, rest:match("^%-%-%s+(.*)$") or rest
end

-- The options among the arguments of a program, its expressions, which follow
-- -e, and the others.
function line.of_arguments(list, refuse)
  local given, expressions, plain, at = {}, {}, {}, 0
  local function following()
    at = at + 1
    return list[at]
  end
  for text in following do
    if text == "-e" then
      text = following() or refuse("-e needs EXPR")
      table.move(line.expressions(text), 1, #line.expressions(text),
        #expressions + 1, expressions)
    elseif is_option(text) then
      take(given, text, following, refuse)
    else
      plain[#plain + 1] = text
    end
  end
  return given, expressions, plain
end

-- ---- what is asked for -----------------------------------------------------

-- "x=rand(4)": a name and a value for it.
local function input_of(text, refuse)
  local name, code = text:match("^([%a_][%w_]*)=(.+)$")
  if not name then
    refuse(("--input needs NAME=EXPR, not '%s'"):format(text))
  end
  local f, why = load("return " .. code, "=input")
  if not f then core.fail((why:gsub("^input:%d+: ", "bench: --input: "))) end
  core.show_source("input", code)
  return { name, (core.bench_wait(f())) }
end

-- "10%" -> 0.1
local function part_of(text, refuse)
  local v = tonumber((text:gsub("%s*%%$", "")))
  if not v or v < 0 then
    refuse(("--fail-over needs a part like 10%%, not '%s'"):format(text))
  end
  return v / 100
end

-- Options as tsh.bench takes them, put into the table `job`.
function line.apply(job, given, refuse)
  if given["fail-over"] then
    job.fail_over = part_of(given["fail-over"], refuse)
  end
  for i, text in ipairs(given.input or {}) do
    if i == 1 then job.inputs = {} end
    job.inputs[i] = input_of(text, refuse)
  end
  job.devices = given.device or job.devices
  for _, k in ipairs { "time", "warmup", "async", "cold", "extended", "unit",
    "save", "vs", "json" } do
    if given[k] ~= nil then job[k] = given[k] end
  end
  return job
end

return line
