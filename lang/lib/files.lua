-- names: read
--
-- Files of numbers become tensors.
local core = require "tsh.core"

local function check_options(options)
  for k in pairs(options) do -- order-free
    if k ~= "labels" then
      core.fail(("read: unknown option '%s'"):format(tostring(k)),
        "it has: labels")
    end
  end
end

-- Labels that count from 0 become 1, 2, ...; others stay.
local function labels_from_one(y)
  if #y == 0 or y:min():item() ~= 0 then return y end
  return y + 1
end

local function check_path(path)
  if type(path) ~= "string" then
    core.fail("read: argument 1 must be a path, got " .. core.kind(path))
  end
  if path:find("\0", 1, true) then
    core.fail("read: a path has no zero byte")
  end
end

local function csv(path, options)
  check_path(path)
  options = options or {}
  if type(options) ~= "table" then
    core.fail("read: options are a table like {labels=true}, got "
      .. core.kind(options))
  end
  check_options(options)
  local x, y, header = core.read_csv(path, options.labels == true)
  if y then y = labels_from_one(y) end
  if y then return x, y, header end
  return x, header
end

local readers = { csv = csv, txt = csv, tsv = csv }

--- read(path, {labels=false}): the numbers in a .csv, .tsv or .txt file as f32
--- [rows, columns], and the array of names when the file begins with them.
--- Separators are comma, semicolon, tab or blanks; an empty field is nan. With
--- labels=true the last column, whole numbers, comes as a second tensor i64
--- [rows]; labels 0, 1, ... become 1, 2, ... Errors name the line and column
--- of what is wrong.
--- Example: local x, y = read("digits.csv", {labels = true})
local function read(path, options)
  check_path(path)
  local ending = path:match("%.(%w+)$")
  local reader = ending and readers[ending:lower()]
  if not reader then
    core.fail(("read: %s: no reader for this kind of file"):format(path),
      "it reads .csv .tsv .txt")
  end
  return reader(path, options)
end

return { read = read, csv = csv }
