-- Whatever goes wrong is said under the name that the user typed, and what has
-- another name in NumPy or PyTorch is named as it is here.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
local core = require "tsh.core"

-- ---- the name in front -----------------------------------------------------

local x = arange(6):view(2, 3):cast("f32")
local t = arange(6):view(3, 2):cast("f32")

-- Arguments that most functions refuse; some take some of them.
local BAD = { {}, { nil }, { "word" }, { {} }, { x, "word" }, { x, {} },
  { x, t }, { t, x }, { x, 99 }, { x, { bogus = 1 } }, { x, x, "word" },
  { x:cast("i64"), tensor { 1.5 } }, { { x, t } }, { x, tensor { 1.5 }, 1 },
  { x, tensor { true }, 1 }, { type }, { x, type }, { { x, 5 } },
  { zeros(0, 3) }, { tensor(1.0) }, { x, 7, 8, 9, 10 }, { x, -5 },
  { x, { -1, -1 } }, { x, arange(5) }, { zeros(2, 3, 4, 5), 1 },
  { zeros(2, 3, 4, 5), zeros(3, 3, 3, 3) }, { 2, x }, { x, 1.5 },
  { x, tensor { 99 } }, { { bogus = 3 } }, { -3 }, { x, x:cast("bool") },
  { 1e30 }, { tensor { 1, 2, 3 }, tensor { 1, 2 }, 3, 4 } }

-- Every public function but those that print or read; an alias is known by the
-- name on the line, which pcall has not.
local function public_names()
  local names, seen = {}, { seed = true, show = true, stdin = true,
    stdin_names = true, shape = true, dtype = true,
    eq = true, case = true }
  local function add(name)
    if seen[name] or name:find("^tsh%.") or not name:find("^[%w_.]+$") then
      return
    end
    seen[name] = true
    names[#names + 1] = name
  end
  for _, f in ipairs(core.functions()) do
    if f.global and not f.alias then add(f.name) end
    if f.alias then seen[f.name] = true end
  end
  for _, e in ipairs(core.documented()) do add(e[1]) end
  table.sort(names)
  return names
end

local function value_of(name)
  local v = _G
  for part in name:gmatch("[^.]+") do v = type(v) == "table" and v[part] end
  return v
end

-- The sentence of an error, without its place.
local function sentence(e)
  local first = tostring(e):match("[^\n]*")
  return first:match("^.-:%d+: (.*)") or first
end

local function error_of(code, ...)
  local ok, e = pcall(assert(load(code, "=c")), ...)
  check(not ok, "no error of " .. code)
  return tostring(e)
end

case("sweep", "an error begins with the name of the function", function()
  local total, wrong = 0, {}
  for _, name in ipairs(public_names()) do
    local f = value_of(name)
    for i, arguments in ipairs(type(f) == "function" and BAD or {}) do
      local ok, e = pcall(f, table.unpack(arguments))
      local said = ok or sentence(e)
      total = total + (ok and 0 or 1)
      if not ok and said:sub(1, #name + 2) ~= name .. ": " then
        wrong[#wrong + 1] = ("%s, arguments %d: %s"):format(name, i, said)
      end
    end
  end
  check(total > 5000, total)
  check(#wrong == 0, ("%d others:\n%s"):format(#wrong, table.concat(wrong, "\n",
    1, math.min(#wrong, 10))))
end)

case("as typed", "also of an alias, a method, the function of a module",
  function()
  for code, want in pairs { -- order-free
    ["x:view(4)"] = "view: [2,3] has 6 elements",
    ["mm(x, 1)"] = "mm: argument 2 must be a tensor",
    ["x:stack(1)"] = "stack: ",
    ["clamp(x, zeros(5), 1)"] = "clamp: shapes [2,3] and [5]",
    ["hypot(x, zeros(5))"] = "hypot: shapes [2,3] and [5]",
    ["nn.linear(2, -1)"] = "nn.linear: ",
    ["x + zeros(5)"] = "add: shapes",
    ["pcall(error) or x:sum(9)"] = "sum: axis 9",
  } do
    local e = sentence(error_of("local x = ... return " .. code, x))
    check(e:sub(1, #want) == want, code .. " said " .. e)
  end
end)

case("caret", "below the name that was typed", function()
  local _, e = pcall(load("local x = ... local y = hypot(x, zeros(5))"), x)
  local line, caret = e:match("\n([^\n]*hypot%(x[^\n]*)\n( *)^")
  check(line and line:find("hypot(", #caret + 1, true) == #caret + 1, e)
end)

case("callback", "what fails in the user's function is named there", function()
  local e = error_of("local x = ...\nlocal f = grad(function(v)\n"
    .. "return sum(v + zeros(5)) end)\nf(x)", x)
  check(e:find("^c:3: add: shapes"), e)
end)

case("dots", "x.sum() has lost its tensor", function()
  check(error_of("return (...).sum()", x):find("with a colon", 1, true))
  check(not error_of("sum()"):find("colon", 1, true))
end)

-- ---- names of others -------------------------------------------------------

case("methods", "that others have", function()
  for name, hint in pairs { -- order-free
    astype = 'x:cast("f32")', size = "x.shape", numpy = "x:table()",
    t = "here it is x.T", clip = "clamp(x, 0, 1)", tolist = "x:table()",
    ndim = "#x.shape", add_ = "x = x:add(...)", clone = "tensors are values",
    backward = "grad(f)", cuda = 'x:to("cuda:0")', float = "x:f32()",
  } do
    local e = error_of("local x = ... return x:" .. name .. "()", x)
    check(e:find("no field or method '" .. name .. "'", 1, true), e)
    check(e:find(hint, 1, true), e)
  end
end)

case("options", "that others have", function()
  local function hint(code, want)
    local e = error_of("local x = ... return " .. code, x)
    check(e:find("did you mean '" .. want .. "'?", 1, true), e)
  end
  hint("x:sum { dim = 1 }", "axis")
  hint("x:sum { axis = 1, keepdims = true }", "keep")
  hint("x:mean { keepdim = true }", "keep")
  hint("x:var { ddof = 1 }", "correction")
  hint("sort(x, { reverse = true })", "descending")
  hint("std(x, { dim = 1 })", "axis")
end)

-- The functions of the code in a hint are there.
local function check_code(name, code)
  for called in code:gmatch("([%a_][%w_.:]*)[({]") do
    local method = called:match(":(.*)")
    check(method and x[method] or value_of(called),
      ("%s: no %s in '%s'"):format(name, called, code))
  end
end

case("table", "no row names what is here, each names what is", function()
  local seen, own = {}, { print = true, random = true, grad = true, data = true,
    type = true, select = true, ["repeat"] = true, table = true,
    inf = true, nan = true } -- of the prelude
  for _, e in ipairs(core.synonyms()) do
    local name, hint = e[1], e[2]
    check(not seen[name], "twice: " .. name)
    seen[name] = true
    check(own[name] or _G[name] == nil, "there is a " .. name)
    check(own[name] or not pcall(function() return x[name] end), name)
    local code = hint:match("^here it is (.*)")
    if code then check_code(name, code) end
  end
  check(seen.concatenate and seen.np and seen.backward)
end)

case("apropos", "knows them", function()
  local found = {}
  for _, e in ipairs(tsh.apropos("concat")) do found[e[1]] = e[2] end
  check(found.concatenate == "here it is cat{a, b}", found.concatenate)
end)

case("shape", "has no axis 0", function()
  local e = error_of("return (...).shape[0]", x)
  check(e:find("count from 1", 1, true), e)
  check(x.shape[3] == nil and x.shape[-1] == 3)
end)

case("numel", "counts elements", function()
  check(numel(x) == 6 and x:numel() == 6 and math.type(numel(x)) == "integer")
  check(numel(zeros(0, 3)) == 0 and numel(tensor(1)) == 1)
end)

done()
