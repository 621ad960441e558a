-- Public names: none is a keyword or a standard global of Lua, every function
-- of the table is there, and help has words for each.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local KEYWORDS = { "and", "break", "do", "else", "elseif", "end", "false", "for",
  "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat",
  "return", "then", "true", "until", "while" }
local STANDARD = { "_G", "_VERSION", "arg", "assert", "collectgarbage",
  "coroutine", "debug", "dofile", "error", "getmetatable", "io", "ipairs",
  "load", "loadfile", "math", "next", "os", "package", "pairs", "pcall",
  "print", "rawequal", "rawget", "rawlen", "rawset", "require", "select",
  "setmetatable", "string", "table", "tonumber", "tostring", "type", "utf8",
  "warn", "xpcall" }

local functions = require "tsh.core".functions()

case("clash", "no name of ours is Lua's", function()
  local taken = {}
  for _, name in ipairs(KEYWORDS) do taken[name] = true end
  for _, name in ipairs(STANDARD) do taken[name] = true end
  check(#functions > 120, #functions)
  for _, f in ipairs(functions) do
    check(f.method and not f.global or not taken[f.name], f.name)
  end
  for _, name in ipairs(KEYWORDS) do
    for _, f in ipairs(functions) do check(f.name ~= name, name) end
  end
end)

case("standard", "Lua's own are where they were", function()
  for _, name in ipairs(STANDARD) do check(_G[name] ~= nil, name) end
  check(type(math.max) == "function" and type(string.format) == "function")
end)

case("there", "every function of the table can be called", function()
  local t = tensor { 1.0 }
  for _, f in ipairs(functions) do
    if f.global then check(type(_G[f.name]) == "function", f.name) end
    if f.method then check(type(t[f.name]) == "function", f.name) end
    if f.field then check(t[f.name] ~= nil, f.name) end
  end
end)

case("once", "no name stands in the table twice", function()
  local seen = {}
  for _, f in ipairs(functions) do
    check(not seen[f.name], f.name)
    seen[f.name] = true
  end
end)

case("described", "each has words and named arguments", function()
  local by_name = {}
  for _, f in ipairs(functions) do by_name[f.name] = f end
  for _, f in ipairs(functions) do
    if f.alias then
      check(by_name[f.alias] and not by_name[f.alias].alias, f.name)
    else
      check(#f.doc > 0 and f.doc:sub(-1) ~= " ", f.name)
      check(f.args ~= "" or f.name == "seed", f.name)
    end
  end
end)

case("ops", "every public op has its function", function()
  local hidden = { index = true, random = true, copy = true }
  for _, op in ipairs(tsh.ops()) do
    if op.class == "MAP" and not hidden[op.name] then
      check(type(_G[op.name]) == "function", op.name)
      check(type(tensor { 1 }[op.name]) == "function", op.name)
    end
  end
end)

-- The words behind a head, in the first two lines of a library file.
local function words_behind(head, text)
  local line = text:match("^" .. head .. "([^\n]*)")
    or text:match("^[^\n]*\n" .. head .. "([^\n]*)") or ""
  local words = {}
  for w in line:gmatch("%S+") do words[#words + 1] = w end
  return words
end

case("library", "its names are free, described, and those of one file",
  function()
  local taken, seen, n = {}, {}, 0
  for _, name in ipairs(KEYWORDS) do taken[name] = true end
  for _, name in ipairs(STANDARD) do taken[name] = true end
  for _, f in ipairs(functions) do
    if f.global then taken[f.name] = true end
  end
  for path in io.popen("ls '" .. here .. "../../lang/lib/'*.lua"):lines() do
    local f = assert(io.open(path))
    local text, names = f:read("a"), {}
    f:close()
    for _, name in ipairs(words_behind("%-%- names: ", text)) do
      check(not taken[name] and not seen[name], name)
      seen[name], names[name], n = true, true, n + 1
      -- What stands on standard input is read when it is asked for.
      local on_input = name:find("^stdin") ~= nil
      check(on_input or _G[name] ~= nil, name)
      if not on_input and type(_G[name]) == "function" then
        local doc = text:match("%f[-]%-%-%- " .. name .. "%(.-\nlocal ")
        check(doc and doc:find("--- Example: ", 1, true), "no words on " .. name)
      end
    end
    for _, name in ipairs(words_behind("%-%- methods: ", text)) do
      check(names[name], name)
      check(type(tensor { 1.0 }[name]) == "function", name)
    end
  end
  check(n > 60, n)
end)

done()
