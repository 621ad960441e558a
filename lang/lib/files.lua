-- names: read
--
-- Files of numbers become tensors.
local core = require "tsh.core"

-- ---- arguments -------------------------------------------------------------

local function check_path(who, path)
  if type(path) ~= "string" then
    core.fail(("%s: argument 1 must be a path, got %s"):format(who,
      core.kind(path)))
  end
  if path:find("\0", 1, true) then
    core.fail(who .. ": a path has no zero byte")
  end
end

local function has_word(words, word)
  for w in words:gmatch("%S+") do
    if w == word then return true end
  end
  return false
end

-- The table of options, with none that is not known.
local function check_options(who, options, known)
  if options == nil then return {} end
  if type(options) ~= "table" then
    core.fail(("%s: options are a table like {%s=true}, got %s"):format(who,
      known:match("%S+"), core.kind(options)))
  end
  for k in pairs(options) do -- order-free
    if type(k) ~= "string" or not has_word(known, k) then
      core.fail(("%s: unknown option '%s'"):format(who, tostring(k)),
        "it has: " .. known)
    end
  end
  return options
end

-- Labels that count from 0 become 1, 2, ...; others stay.
local function labels_from_one(y)
  if core.count(y) == 0 or y:min():item() ~= 0 then return y end
  return y + 1
end

-- ---- formats ---------------------------------------------------------------

local function take_csv(who, file, o)
  if o.dtype or o.device then
    core.fail(who .. ": numbers in text come as f32 on the current device",
      "x:cast(\"f64\"), x:to(device)")
  end
  local x, y, header = core.file_table(who, file, o.labels == true)
  if y then return x, labels_from_one(y), header end
  return x, header
end

local function take_one(who, file, o)
  return core.file_take(who, file, 1, o.dtype, o.device)
end

local function take_idx(who, file, o)
  if not o.labels then return take_one(who, file, o) end
  return labels_from_one(core.file_take(who, file, 1, "i64", o.device))
end

local takers = { csv = take_csv, idx = take_idx }

local function no_labels(who, path, o)
  if o.labels then
    core.fail(("%s: %s: labels are an option of csv and idx"):format(who, path))
  end
end

local function close(file, ...)
  core.file_close(file)
  return ...
end

local function read_as(who, path, o, only)
  check_path(who, path)
  local file, format = core.file_open(who, path, o.format or only)
  if only and format ~= only then
    core.fail(("%s: %s: this is a file of the kind %s"):format(who, path,
      format), "read(path) takes every kind")
  end
  if format ~= "csv" and format ~= "idx" then no_labels(who, path, o) end
  return close(file, takers[format](who, file, o))
end

--- read(path, {labels=false}): the numbers in a .csv, .tsv or .txt file as f32
--- [rows, columns], and the array of names when the file begins with them.
--- Separators are comma, semicolon, tab or blanks; an empty field is nan. With
--- labels=true the last column, whole numbers, comes as a second tensor i64
--- [rows]; labels 0, 1, ... become 1, 2, ... Errors name the line and column
--- of what is wrong.
--- Example: local x, y = read("digits.csv", {labels = true})
local function read(path, options)
  local o = check_options("read", options, "labels dtype device format")
  return read_as("read", path, o)
end

local function csv(path, options)
  return read_as("data.csv", path,
    check_options("data.csv", options, "labels"), "csv")
end

local function idx(path, options)
  return read_as("data.idx", path,
    check_options("data.idx", options, "labels dtype device"), "idx")
end

return { read = read, csv = csv, idx = idx }
