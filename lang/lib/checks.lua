-- Checks of arguments and options that the files of networks share.
local core = require "tsh.core"

local checks = {}

local FLOAT = { f16 = true, bf16 = true, f32 = true, f64 = true }
local INTEGER = { u8 = true, i8 = true, i16 = true, i32 = true, i64 = true,
  u16 = true, u32 = true, u64 = true }

function checks.is_float(t) return FLOAT[t.dtype] == true end

function checks.is_integer(t) return INTEGER[t.dtype] == true end

-- A number as it is, anything else by its kind: for messages.
local function shown(v)
  return type(v) == "number" and tostring(v) or core.kind(v)
end

checks.shown = shown

function checks.tensor(name, x, i)
  if core.is_tensor(x) then return x end
  core.fail(("%s: argument %d must be a tensor, got %s"):format(name, i or 1,
    core.kind(x)))
end

-- v as an integer that is at least `least`; 784 / 2 is one.
function checks.whole(name, what, v, least)
  local n = type(v) == "number" and math.tointeger(v)
  if not n then
    core.fail(("%s: %s must be a whole number, got %s"):format(name, what,
      shown(v)))
  end
  if n < least then
    core.fail(("%s: %s must be at least %d, got %d"):format(name, what, least,
      n))
  end
  return n
end

function checks.key(name, key)
  if math.type(key) == "integer" then return key end
  core.fail(("%s: a key is an integer, got %s"):format(name, shown(key)))
end

-- An array of whole numbers, which may be given as one number.
function checks.sizes(name, what, v, least)
  if type(v) ~= "table" then v = { v } end
  if #v == 0 then core.fail(("%s: %s has no number"):format(name, what)) end
  local list = {}
  for i, n in ipairs(v) do list[i] = checks.whole(name, what, n, least) end
  return list
end

-- ---- options ---------------------------------------------------------------

local function has_word(words, word)
  for w in words:gmatch("%S+") do
    if w == word then return true end
  end
  return false
end

-- A table that has none but the known keys; an empty one for nil.
function checks.options(name, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    core.fail(("%s: options are a table, got %s"):format(name,
      core.kind(options)), "it has: " .. known)
  end
  for k in pairs(options) do -- order-free
    if type(k) ~= "string" or not has_word(known, k) then
      core.fail(("%s: unknown option '%s'"):format(name, tostring(k)),
        "it has: " .. known)
    end
  end
  return options
end

function checks.number(name, options, key, default)
  local v = options[key]
  if v == nil then v = default end
  if type(v) == "number" then return v end
  core.fail(("%s: %s must be a number, got %s"):format(name, key,
    core.kind(v)))
end

-- A number from `least` to `most`, both allowed.
function checks.within(name, options, key, default, least, most)
  local v = checks.number(name, options, key, default)
  if v >= least and v <= most then return v end
  local range = most == math.huge and ("at least %g"):format(least)
    or ("from %g to %g"):format(least, most)
  core.fail(("%s: %s must be %s, got %s"):format(name, key, range,
    tostring(v)))
end

function checks.flag(name, options, key, default)
  local v = options[key]
  if v == nil then return default end
  if type(v) == "boolean" then return v end
  core.fail(("%s: %s must be true or false, got %s"):format(name, key,
    shown(v)))
end

return checks
