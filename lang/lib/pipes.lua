-- names: stdin stdin_names
--
-- Data between programs: what comes from standard input, and what goes to
-- standard output or into the file that -o names.
local core = require "tsh.core"
local files = require "tsh.files"

local pipes = {}

-- ---- in --------------------------------------------------------------------

local WHY_NOT = {
  terminal = { "stdin: standard input is a terminal, there are no data in it",
    "tsh -p 'stdin:sum()' < FILE, COMMAND | tsh -p ..., or read(FILE)" },
  script = { "stdin: standard input holds what runs, not data",
    "tsh run SCRIPT < DATA, or read(FILE)" },
}

local function read_stdin()
  local why = WHY_NOT[core.stdin_use()]
  if why then core.fail(why[1], why[2]) end
  local value, names = files.read("/dev/stdin")
  return value, core.is_tensor(value) and names or nil
end

--- stdin, stdin_names: what a file or another program gives to standard input,
--- read when the name is used first: as read does it, with the format found in
--- the data: npy, npz, safetensors, idx, csv, json or a json on each line. A
--- tensor, or of npz and safetensors a table of them. stdin_names: the columns
--- of a csv with a header, or of rows that are objects; stdin_names.price is
--- the number of a column.
--- read("/dev/stdin", {format=, dtype=, labels=}) reads it with options.
--- Example: tsh -p 'stdin:mean(1)' < table.csv
setmetatable(pipes, { __index = function(t, k)
  local has_read = rawget(t, "stdin") ~= nil
  if k ~= "stdin" and k ~= "stdin_names" or has_read then return nil end
  local value, names = read_stdin()
  rawset(t, "stdin", value)
  rawset(t, "stdin_names", names)
  return rawget(t, k)
end })

-- -I name=file: the global `name`, and name_names for the columns of a table.
function pipes.input(name, path)
  local globals = core.globals()
  local value, names = files.read(path == "-" and "/dev/stdin" or path)
  globals[name] = value
  if core.is_tensor(value) and names then globals[name .. "_names"] = names end
end

-- ---- out -------------------------------------------------------------------

local FORMATS = { npy = true, npz = true, safetensors = true, csv = true,
  json = true }
local LIST = "npy, npz, safetensors, csv or json"

-- Before anything runs: can -o path and --format be done?
function pipes.prepare(path, format)
  if format ~= "" and not FORMATS[format] then
    core.usage(("--format takes %s, not '%s'"):format(LIST, format))
  end
  if path == "-" then
    if format == "" then core.usage("-o - needs --format, one of " .. LIST) end
    if format ~= "csv" and format ~= "json" and core.is_terminal(1) then
      core.usage(("standard output is a terminal, and %s is no text"):format(
        format), "put '> FILE' or '| COMMAND' behind it, or use -o FILE")
    end
    return
  end
  local ending = path:match("%.(%w+)$")
  if format == "" and not FORMATS[(ending or ""):lower()] then
    core.usage(("-o %s: its ending says no format"):format(path),
      "FILE.npy, or --format: " .. LIST)
  end
end

-- Tables of numbers and tensors as JSON has them.
local function plain(v)
  if core.is_tensor(v) then return #v.shape == 0 and v:item() or v:table() end
  if type(v) ~= "table" then return v end
  local t = {}
  for k, field in pairs(v) do t[k] = plain(field) end -- order-free
  return t
end

-- What goes wrong with standard output is told when tsh ends.
local function write_text(path, text)
  if path == "-" then
    io.stdout:write(text, "\n")
    return
  end
  local f, why = io.open(path, "wb")
  local ok = f and f:write(text, "\n")
  if f then ok = f:close() and ok end
  if not ok then core.fail("-o: " .. (why or path .. ": could not be written")) end
end

-- Writes the value of the last -p, or of the script.
function pipes.output(path, format)
  local value = core.kept()
  local kind = format ~= "" and format or path:match("%.(%w+)$"):lower()
  if value == nil then
    core.fail("-o: there is no value to write",
      "-p EXPR gives one, and a script that ends with `return x`")
  end
  if type(value) == "number" or type(value) == "boolean" then
    value = tensor(value)
  end
  if kind == "json" and type(value) == "table" then
    return write_text(path, require("tsh.json").json.encode(plain(value)))
  end
  io.stdout:flush()
  files.write(path == "-" and "/dev/stdout" or path, value, { format = kind })
end

return pipes
