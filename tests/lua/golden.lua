-- Compares every op with the golden files, which come from PyTorch: values for
-- each dtype, and gradients.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local folder = here .. "../golden/"
local files = { "elementwise.txt", "reduce.txt", "layout.txt", "order.txt",
  "loss.txt", "short.txt" }
local inputs, lacking = {}, {}

-- ---- reading ---------------------------------------------------------------

-- 0 / 0 has its sign bit set on many machines; copysign sees it.
local words = { inf = inf, ["-inf"] = -inf, nan = math.abs(0 / 0) }

local function read_values(text, from)
  local t, n = {}, 0
  for w in text:gmatch("%S+") do
    n = n + 1
    if n >= from then t[n - from + 1] = words[w] or tonumber(w) end
  end
  return t
end

local function read_shape(text)
  local s = {}
  for n in text:gmatch("%d+") do s[#s + 1] = math.tointeger(n) end
  return s
end

local function make(values, dt, s)
  if #values == 0 then return zeros(s, { dtype = dt }) end
  if dt == "bool" then
    for i, v in ipairs(values) do values[i] = v ~= 0 end
  end
  return tensor(values, dt):reshape(s)
end

-- A device may lack a dtype; what needs it is passed over.
local function read_input(line)
  local name, dt, s = line:match("^input (%S+) (%S+) (%S+)")
  local ok, x = pcall(make, read_values(line, 5), dt, read_shape(s))
  if not ok and not x:find("has no " .. dt, 1, true) then error(x, 0) end
  inputs[name] = ok and x or false
  if not ok then lacking[dt] = true end
end

local function split(line)
  local parts = {}
  for part in line:gmatch("[^\t]+") do parts[#parts + 1] = part end
  return parts
end

-- "x=left.f32 y=right.f32" to names and tensors, in order; nil where the
-- device lacks one.
local function arguments(text)
  local names, values = {}, {}
  for name, from in text:gmatch("(%w+)=(%S+)") do
    names[#names + 1] = name
    values[#values + 1] = inputs[from]
    assert(inputs[from] ~= nil, from)
    if not inputs[from] then return nil end
  end
  return names, values
end

local function compile(expression, names)
  local head = #names > 0 and "local " .. table.concat(names, ", ") .. " = ... "
    or ""
  if expression:find("core.", 1, true) then
    head = head .. "local core = require 'tsh.core' "
  end
  return assert(load(head .. "return " .. expression, "=golden"))
end

-- ---- comparing -------------------------------------------------------------

local DIGITS = { f16 = 11, bf16 = 8, f32 = 24, f64 = 53 }
local LOWEST = { f16 = -24, bf16 = -133, f32 = -149, f64 = -1074 }
local LARGEST = { f16 = 65504, bf16 = 0x1.fep127, f32 = 0x1.fffffep127,
  f64 = 0x1.fffffffffffffp1023 }

-- The distance of neighbouring numbers at v.
local function ulp_at(v, dt)
  local _, e = 0, LOWEST[dt]
  if v ~= 0 then
    _, e = string.format("%a", math.abs(v)):match("^(.-)p([+-]%d+)$")
    e = math.tointeger(tonumber(e))
  end
  return 2.0 ^ math.max(e - DIGITS[dt] + 1, LOWEST[dt])
end

local function agree(a, b, ulp, dt)
  if a == true then a = 1 elseif a == false then a = 0 end
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  if ulp == 0 or not DIGITS[dt] then
    return a == b and (a ~= 0 or math.type(a) == "integer" or 1 / a == 1 / b)
  end
  if a == b then return true end
  if math.abs(a) == inf or math.abs(b) == inf then
    local finite = math.abs(a) == inf and b or a
    return math.abs(finite) > LARGEST[dt] * 0.99 and (a > 0) == (b > 0)
  end
  local at = ulp < 0 and math.max(1, math.abs(b)) or b
  return math.abs(a - b) <= math.abs(ulp) * ulp_at(at, dt)
end

local function show(v)
  return math.type(v) == "float" and ("%.17g"):format(v) or tostring(v)
end

local function compare(got, want, ulp, dt, s)
  if tostring(got.dtype) ~= dt then
    error(("dtype %s, want %s"):format(got.dtype, dt), 0)
  end
  shape(got, s)
  if #want == 0 then return end
  local values = got:reshape(#want):table()
  for i = 1, #want do
    if not agree(values[i], want[i], ulp, dt) then
      error(("element %d: got %s, want %s"):format(i, show(values[i]),
        show(want[i])), 0)
    end
  end
end

local function run_case(line)
  local parts = split(line:sub(6))
  local names, values = arguments(parts[2])
  local dt, s = parts[4]:match("^(%S+) (%S+)")
  if not names or lacking[dt] then return end
  case(parts[1], parts[2], function()
    local got = compile(parts[1], names)(table.unpack(values))
    compare(got, read_values(parts[4], 3), tonumber(parts[3]), dt,
      read_shape(s))
  end)
end

-- ---- gradients -------------------------------------------------------------

local function weights(y)
  local w, n = {}, 1
  for i = 1, #y.shape do n = n * y.shape[i] end
  for k = 0, n - 1 do
    w[k + 1] = (k * 7 % 5 + k % 3 * 0.125) * 0.5 + 0.25
  end
  return make(w, "f64", y.shape:table())
end

local function run_grad(line)
  local parts = split(line:sub(6))
  local names, values = arguments(parts[2])
  if not names then return end
  case("grad " .. parts[1], parts[2], function()
    local f = compile(parts[1], names)
    local got = grad(function(list)
      local y = f(table.unpack(list))
      return sum(y * weights(y))
    end)(values)
    for i = 4, #parts do
      local name, s = parts[i]:match("^(%S+) (%S+)")
      for k, n in ipairs(names) do
        if n == name then
          compare(got[k], read_values(parts[i], 3), -tonumber(parts[3]), "f64",
            read_shape(s))
        end
      end
    end
  end)
end

-- ---- is every op there? ----------------------------------------------------

-- How a line shows that it is about an op, where not by its name.
local signs = { neg = "-x", add = "x + y", sub = "x - y", mul = "x * y",
  div = "x / y", floordiv = "x // y", mod = "x % y", pow = "x ^ y",
  bitand = "x & y", bitor = "x | y", bitnot = "~x", shl = "x <<",
  shr = "x >>", iota = "arange", slice = "x[", dot = "matmul",
  expand = "broadcast_to", index_add = "add_at", index = "take(",
  gather = "gather0", scatter_add = "scatter_add0", argsort = "argsort0",
  argtopk = "argtopk0", nonzero = "nonzero0" }
local elsewhere = { copy = true, random = true, detach = true, to = true }

local lines = {}

local function check_all_ops()
  local text, missing = table.concat(lines, "\n"), {}
  for _, op in ipairs(require("tsh.core").ops()) do
    local name = op.name
    local found = signs[name] and text:find(signs[name], 1, true)
      or text:find("%f[%w_]" .. name .. "%f[^%w_]") or elsewhere[name]
    if not found then missing[#missing + 1] = name end
  end
  check(#missing == 0, "no golden line for " .. table.concat(missing, ", "))
end

for _, name in ipairs(files) do
  inputs = {}
  for line in io.lines(folder .. name) do
    if line:find("^input ") then read_input(line)
    elseif line:find("^case ") then run_case(line)
    elseif line:find("^grad ") then run_grad(line) end
    lines[#lines + 1] = line:match("^case ([^\t]+)")
  end
end
case("ops", "every op of the table has a line", check_all_ops)
done()
