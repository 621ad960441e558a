-- The arguments of library functions: checks that name the function, options
-- with a guess, axes.
local core = require "tsh.core"

local args = {}

args.FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }
args.INTEGER = { i8 = true, i16 = true, i32 = true, i64 = true, u8 = true,
  u16 = true, u32 = true, u64 = true }

-- The numbers of an integer dtype; those of u64 as far as Lua's integers go.
args.RANGE = { i8 = { -128, 127 }, u8 = { 0, 255 },
  i16 = { -32768, 32767 }, u16 = { 0, 65535 },
  i32 = { -2 ^ 31 | 0, 2 ^ 31 - 1 | 0 }, u32 = { 0, 0xffffffff },
  i64 = { math.mininteger, math.maxinteger }, u64 = { 0, math.maxinteger } }

-- ---- tensors and numbers ---------------------------------------------------

local function refuse(name, i, want, x)
  core.fail(("%s: argument %d must be %s, got %s"):format(name, i, want,
    core.kind(x)))
end

function args.check_tensor(name, x, i)
  if core.is_tensor(x) then return x end
  refuse(name, i or 1, "a tensor", x)
end

-- A tensor or a number.
function args.check_operand(name, x, i)
  if core.is_tensor(x) or type(x) == "number" or type(x) == "boolean" then
    return x
  end
  refuse(name, i, "a tensor or a number", x)
end

-- The dtype of a word like "float32"; nil for nil.
function args.dtype(word) return word and promote(word, word) end

-- An integer beside a tensor of integers is one of that dtype.
function args.check_literal(name, v, dtype)
  local range = args.RANGE[dtype]
  if not range or math.type(v) ~= "integer" then return v end
  if v >= range[1] and v <= range[2] then return v end
  core.fail(("%s: %d does not fit %s"):format(name, v, dtype))
end

function args.to_float(x)
  return args.FLOAT[x.dtype] and x or x:cast("f32")
end

-- The widest float of a device: not every one has f64.
local wide = {}
function args.wide(device)
  wide[device] = wide[device]
    or pcall(core.full, { 0 }, 0, "f64", device) and "f64" or "f32"
  return wide[device]
end

-- A tensor of positions: integers, or a number or list of them.
function args.check_positions(name, at, i)
  if type(at) == "table" or math.type(at) == "integer" then
    at = tensor(at, "i64")
  end
  args.check_tensor(name, at, i)
  if args.INTEGER[at.dtype] then return at end
  core.fail(("%s: positions must be integers, not %s"):format(name, at.dtype),
    at.dtype == "bool" and "x[mask] picks by a mask" or 'at:cast("i64")')
end

-- A list of tensors, and nothing but its elements 1, 2 ... n.
function args.check_list(name, list)
  if type(list) ~= "table" or #list == 0 then
    core.fail(name .. ": argument 1 must be a list of tensors")
  end
  for i = 1, #list do
    if not core.is_tensor(list[i]) then
      core.fail(("%s: element %d must be a tensor, got %s"):format(name, i,
        core.kind(list[i])))
    end
  end
  for k in pairs(list) do -- order-free
    if math.type(k) ~= "integer" or k < 1 or k > #list then
      core.fail(("%s: the list has the key %s, which is no position 1..%d")
        :format(name, tostring(k), #list))
    end
  end
end

-- v as an integer, also a float like 784 / 2.
function args.whole_number(name, what, v)
  local i = type(v) == "number" and math.tointeger(v)
  if i then return i end
  core.fail(("%s: %s must be a whole number, got %s"):format(name, what,
    type(v) == "number" and tostring(v) or core.kind(v)))
end

-- A whole number from `least` on.
function args.whole_from(name, what, v, least)
  local i = args.whole_number(name, what, v)
  if i >= least then return i end
  core.fail(("%s: %s must be from %d, got %d"):format(name, what, least, i))
end

-- Is the table one of options? An empty one is a list of no sizes.
function args.has_names(t)
  return #t == 0 and next(t) ~= nil -- order-free
end

-- ---- options ---------------------------------------------------------------

local function has_word(words, word)
  for w in words:gmatch("%S+") do
    if w == word then return true end
  end
  return false
end

local function check_options(name, o, known)
  local unknown
  for k in pairs(o) do -- order-free
    if not has_word(known, k) and (not unknown or tostring(k) < unknown) then
      unknown = tostring(k)
    end
  end
  if not unknown then return o end
  local near = core.nearest(unknown, known)
  core.fail(("%s: unknown option '%s'"):format(name, unknown),
    near and ("did you mean '%s'?"):format(near) or "it has: " .. known)
end

-- The options of a call, its main one also as a plain argument, then perhaps
-- a table of the others. A list is a value where `lists` says so.
function args.options(name, value, main, known, more, lists)
  if type(value) == "table" and not (lists and #value > 0)
    and not core.is_tensor(value) then
    if more ~= nil then
      core.fail(("%s: options stand in one table, the last"):format(name))
    end
    return check_options(name, value, known)
  end
  if more ~= nil and type(more) ~= "table" then
    core.fail(("%s: options are a table like {%s=...}, got %s"):format(name,
      known:match("%S+"), core.kind(more)))
  end
  local o = {}
  for k, v in pairs(check_options(name, more or {}, known)) do -- order-free
    o[k] = v
  end
  if value ~= nil then
    if o[main] ~= nil then
      core.fail(("%s: %s is given twice"):format(name, main))
    end
    o[main] = value
  end
  return o
end

function args.number_option(name, o, key, default)
  local v = o[key]
  if v == nil then return default end
  if type(v) == "number" then return v end
  core.fail(("%s: %s must be a number, got %s"):format(name, key, core.kind(v)))
end

function args.flag(name, o, key, default)
  local v = o[key]
  if v == nil then return default or false end
  if type(v) == "boolean" then return v end
  core.fail(("%s: %s must be true or false, got %s"):format(name, key,
    core.kind(v)))
end

-- One of a few words.
function args.word_option(name, o, key, known, default)
  local v = o[key]
  if v == nil then return default end
  if type(v) == "string" and has_word(known, v) then return v end
  core.fail(("%s: %s is one of %s, got %s"):format(name, key, known,
    type(v) == "string" and "'" .. v .. "'" or core.kind(v)))
end

-- ---- axes and sizes --------------------------------------------------------

function args.axis_below(name, rank, axis)
  if type(axis) == "string" then
    core.fail(name .. ": an axis must be a whole number, got a string",
      core.columns_hint)
  end
  axis = args.whole_number(name, "an axis", axis)
  local at = axis < 0 and axis + rank + 1 or axis
  if at >= 1 and at <= rank then return at end
  if rank == 0 then
    core.fail(("%s: axis %d of a tensor that has no axes"):format(name, axis))
  end
  core.fail(("%s: axis %d is outside 1..%d"):format(name, axis, rank),
    axis == 0 and "axes count from 1" or nil)
end

function args.axis_of(name, x, axis)
  return args.axis_below(name, #x.shape, axis)
end

-- All axes, one or several, as an array counted from 1.
function args.axes_of(name, x, axis)
  local axes, seen = {}, {}
  if axis == nil then
    for i = 1, #x.shape do axes[i] = i end
    return axes
  end
  for i, a in ipairs(type(axis) == "table" and axis or { axis }) do
    axes[i] = args.axis_of(name, x, a)
    if seen[axes[i]] then
      core.fail(("%s: axis %d is given twice"):format(name, a))
    end
    seen[axes[i]] = true
  end
  return axes
end

-- The shape of x as a plain list.
function args.sizes(x)
  local s = {}
  for i = 1, #x.shape do s[i] = x.shape[i] end
  return s
end

-- Ranges for core.slice0 that take all of x.
function args.whole(x)
  local ranges = {}
  for i = 1, #x.shape do ranges[i] = { 0, x.shape[i], 1 } end
  return ranges
end

-- Elements first, first + step ... (from 0) of an axis.
function args.strided(x, axis, first, count, step)
  local ranges = args.whole(x)
  ranges[axis] = { first, count, step }
  return core.slice0(x, ranges)
end

function args.part(x, axis, first, count)
  return args.strided(x, axis, first, count, 1)
end

-- The shape that shapes a and b are broadcast to.
function args.broadcast(name, a, b)
  local s, rank = {}, math.max(#a, #b)
  for i = 1, rank do
    local m, n = a[#a - rank + i] or 1, b[#b - rank + i] or 1
    if m ~= n and m ~= 1 and n ~= 1 then
      core.fail(("%s: shapes [%s] and [%s] do not broadcast"):format(name,
        table.concat(a, ","), table.concat(b, ",")))
    end
    s[i] = m == 1 and n or m
  end
  return s
end

-- Positions from 0 of the true elements of a mask, row-major. Counts them, so
-- what is pending runs.
function args.places(mask)
  local n = core.fold("sum", mask)
  -- Where no value is known it may be all of them.
  if core.is_hidden(n) then return core.nonzero0(mask, core.count(mask)) end
  return core.nonzero0(mask, n:item())
end

-- What tsh check finds of x without a kernel, where it knows x: data.
local KNOWN = 1000000
local FOLDS = { sum = function(a, b) return a + b end, min = math.min,
  max = math.max }

local function fold_known(op, x)
  local t = x:reshape({ core.count(x) }):table()
  local v = t[1]
  for i = 2, #t do v = FOLDS[op](v, t[i]) end
  return v
end

-- The sum, the least or the largest element, as a number.
function args.number_of(op, x)
  local n, count = core.fold(op, x), core.count(x)
  if core.is_hidden(n) and count > 0 and count <= KNOWN
    and not core.is_hidden(x) then
    return fold_known(op, x)
  end
  return n:item()
end

-- x in one axis.
function args.flat(x) return x:reshape({ core.count(x) }) end

return args
