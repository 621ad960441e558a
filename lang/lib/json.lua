-- JSON: text to Lua values and back. null is nil: in a list it is left out.
local core = require "tsh.core"

local json = {}

-- ---- writing ---------------------------------------------------------------

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n",
  ["\r"] = "\\r", ["\t"] = "\\t" }

-- JSON is UTF-8: bytes that are none become the character for that.
local function as_utf8(s)
  local parts, from = {}, 1
  local n, bad = utf8.len(s)
  while not n do
    parts[#parts + 1] = s:sub(from, bad - 1)
    from = bad + 1
    n, bad = utf8.len(s, from)
  end
  if from == 1 then return s end
  parts[#parts + 1] = s:sub(from)
  return table.concat(parts, "\u{FFFD}", 1, #parts)
end

local function quoted(s)
  s = as_utf8(s)
  return '"' .. s:gsub('[%c"\\]', function(c)
    return ESCAPES[c] or ("\\u%04x"):format(c:byte())
  end) .. '"'
end

local function number(v)
  if v ~= v or v == math.huge or v == -math.huge then return "null" end
  return math.type(v) == "integer" and ("%d"):format(v)
    or ("%.17g"):format(v)
end

local function sorted_names(t)
  local names = {}
  for k in pairs(t) do -- order-free
    if type(k) == "string" then names[#names + 1] = k end
  end
  table.sort(names)
  return names
end

local encode

local function table_text(t, indent)
  local inner, parts = indent .. "  ", {}
  if #t > 0 or next(t) == nil then -- order-free
    for i, v in ipairs(t) do parts[i] = encode(v, inner) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  for i, k in ipairs(sorted_names(t)) do
    parts[i] = inner .. quoted(k) .. ": " .. encode(t[k], inner)
  end
  return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
end

function encode(v, indent)
  local kind = type(v)
  if kind == "string" then return quoted(v) end
  if kind == "number" then return number(v) end
  if kind == "boolean" then return tostring(v) end
  if kind == "table" then return table_text(v, indent) end
  return "null"
end

--- json.encode(value): its text; tables with a first element are lists.
--- Example: require("tsh.json").json.encode({a = {1, true}}) --> { "a": [1, true] }
function json.encode(value) return encode(value, "") end

-- ---- reading ---------------------------------------------------------------

local DEPTH = 200

local function fail(s, at, what)
  local _, line = s:sub(1, at):gsub("\n", "")
  core.fail(("json: line %d: %s"):format(line + 1, what))
end

local UNESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/" }

-- \uD83D\uDE00: two halves of one character.
local function joined_surrogates(s)
  return (s:gsub("\\u([dD][89aAbB]%x%x)\\u([dD][c-fC-F]%x%x)", function(a, b)
    local high, low = tonumber(a, 16) - 0xD800, tonumber(b, 16) - 0xDC00
    return utf8.char(0x10000 + (high << 10) + low)
  end))
end

local function read_string(s, at)
  local from = at + 1
  while true do
    local stop = s:find('["\\%c]', at + 1)
    local c = stop and s:sub(stop, stop)
    if not stop or c:find("%c") then fail(s, at, "a string does not end") end
    if c == '"' then
      local text = joined_surrogates(s:sub(from, stop - 1))
      text = text:gsub("\\u(%x%x%x%x)", function(h)
        return utf8.char(tonumber(h, 16))
      end)
      return text:gsub("\\(.)", UNESCAPES), stop + 1
    end
    at = stop + 1
  end
end

local read_value

local function skip(s, at) return s:find("[^ \t\r\n]", at) or #s + 1 end

local function read_list(s, at, depth)
  local list = {}
  at = skip(s, at + 1)
  if s:sub(at, at) == "]" then return list, at + 1 end
  while true do
    list[#list + 1], at = read_value(s, at, depth)
    at = skip(s, at)
    local c = s:sub(at, at)
    if c == "]" then return list, at + 1 end
    if c ~= "," then fail(s, at, "',' or ']' is missing") end
    at = skip(s, at + 1)
  end
end

local function read_object(s, at, depth)
  local object, key = {}, nil
  at = skip(s, at + 1)
  if s:sub(at, at) == "}" then return object, at + 1 end
  while true do
    if s:sub(at, at) ~= '"' then fail(s, at, "a name in quotes is missing") end
    key, at = read_string(s, at)
    at = skip(s, at)
    if s:sub(at, at) ~= ":" then fail(s, at, "':' is missing") end
    object[key], at = read_value(s, skip(s, at + 1), depth)
    at = skip(s, at)
    local c = s:sub(at, at)
    if c == "}" then return object, at + 1 end
    if c ~= "," then fail(s, at, "',' or '}' is missing") end
    at = skip(s, at + 1)
  end
end

local WORDS = { ["true"] = true, ["false"] = false }

function read_value(s, at, depth)
  local c = s:sub(at, at)
  if depth > DEPTH then fail(s, at, "nested too deeply") end
  if c == '"' then return read_string(s, at) end
  if c == "[" then return read_list(s, at, depth + 1) end
  if c == "{" then return read_object(s, at, depth + 1) end
  local word = s:match("^%a+", at)
  if word == "null" then return nil, at + 4 end
  if word and WORDS[word] ~= nil then return WORDS[word], at + #word end
  local text = s:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  if not text or not tonumber(text) then fail(s, at, "no value here") end
  return tonumber(text), at + #text
end

--- json.decode(text): the value that it describes. Errors name the line.
--- Example: require("tsh.json").json.decode("[1, 2.5]") --> 1 2.5
function json.decode(text)
  local value, at = read_value(text, skip(text, 1), 0)
  at = skip(text, at)
  if at <= #text then fail(text, at, "something follows the value") end
  return value
end

return { json = json }
