-- names: read write
--
-- Files become tensors, and tensors files.
local core = require "tsh.core"
local tree = require "tsh.tree"

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
      local near = core.nearest(tostring(k), known)
      core.fail(("%s: unknown option '%s'"):format(who, tostring(k)),
        near and ("did you mean '%s'?"):format(near) or "it has: " .. known)
    end
  end
  return options
end

-- Labels that count from 0 become 1, 2, ...; others stay.
local function labels_from_one(y)
  if core.count(y) == 0 then return y end
  local least = y:min()
  if core.is_hidden(least) or least:item() == 0 then return y + 1 end
  return y
end

-- ---- names of nested tables ------------------------------------------------
-- {layers = {{w = t}, {w = u}}} has the names layers.1.w and layers.2.w: keys
-- with "." between. An integer key is written as a decimal number, and back
-- again a part that is one ("0", "12", "-3", but not "01") is an integer key.

local function join(prefix, k)
  local part = type(k) == "string" and k or ("%d"):format(k)
  return prefix and prefix .. "." .. part or part
end

-- Appends the tensors below t to `out`; `above`: the tables on the way down.
local function flatten(who, t, prefix, above, out)
  if core.is_tensor(t) then
    if out.seen[prefix] then
      core.fail(("%s: two tensors would be called '%s'"):format(who, prefix))
    end
    out.seen[prefix] = true
    out[#out + 1] = { name = prefix, tensor = t }
    return
  end
  if type(t) ~= "table" then
    core.fail(("%s: '%s' is %s, which is no tensor"):format(who, prefix,
      core.kind(t)), type(t) == "number" and ("%s is a number: write tensor(%s)")
      :format(prefix, t) or "texts and numbers go into {metadata={...}}")
  end
  if above[t] then
    core.fail(("%s: a table contains itself at '%s'"):format(who,
      prefix or ""))
  end
  above[t] = true
  for _, k in ipairs(tree.sorted_keys(t, prefix or "")) do
    flatten(who, t[k], join(prefix, k), above, out)
  end
  above[t] = nil
end

local function key_of(part)
  if part:match("^%-?[1-9]%d*$") or part == "0" then
    return math.tointeger(tonumber(part)) or part
  end
  return part
end

local FLAT = "read(path, {flat=true}) keeps the names as they are"

local function clash(who, path, name)
  core.fail(("%s: %s: '%s' would be a tensor and a table, or be there twice")
    :format(who, path, name), FLAT)
end

-- Puts the tensor where its name says; `made`: the tables that we made.
local function nest(who, path, result, made, name, x)
  local at, k = result, nil
  for part in (name .. "."):gmatch("([^.]*)%.") do
    if k ~= nil then
      if at[k] == nil then
        at[k] = {}
        made[at[k]] = true
      elseif not made[at[k]] then
        clash(who, path, name)
      end
      at = at[k]
    end
    k = key_of(part)
  end
  if at[k] ~= nil then clash(who, path, name) end
  at[k] = x
end

local function put(who, path, o, result, made, name, x)
  if o.flat then
    result[name] = x
  else
    nest(who, path, result, made, name, x)
  end
end

-- ---- formats ---------------------------------------------------------------

-- The names in a line, the first ones of many.
local function some_names(names)
  local most = 12
  return table.concat(names, ", ", 1, math.min(#names, most))
    .. (#names > most and ", ..." or "")
end

-- A name may have blanks, between which core.nearest would divide it.
local function like_names(names, k)
  local joined = table.concat(names, "\n"):gsub(" ", "\r"):gsub("\n", " ")
  local near = core.nearest(k:gsub(" ", "\r"), joined)
  return near and ("did you mean '%s'?"):format((near:gsub("\r", " ")))
end

-- names[2] is the second column's name; names.price is the column called so.
-- Another name is an error: as nil it would make an index that takes all.
local function with_columns(who, names)
  local at = {}
  for i = #names, 1, -1 do at[names[i]] = i end
  return setmetatable(names, { __index = function(_, k)
    local i = at[k]
    if i or type(k) ~= "string" then return i end
    core.fail(("%s: no column '%s' (%s)"):format(who, k, some_names(names)),
      like_names(names, k))
  end })
end

local function take_csv(who, file, o, path)
  if o.header ~= nil and type(o.header) ~= "boolean" then
    core.fail(("%s: header is true or false, got %s"):format(who,
      core.kind(o.header)))
  end
  local x, y, header = core.file_table(who, file, path, o.labels == true,
    o.header, o.dtype, o.device)
  if header then with_columns(who, header) end
  if y then return x, labels_from_one(y), header end
  if not header then return x end
  return x, header
end

local function take_json(who, file, o)
  local x, names = core.file_array(who, file, o.dtype, o.device)
  if not names then return x end
  return x, with_columns(who, names)
end

local function take_one(who, file, o)
  return core.file_take(who, file, 1, o.dtype, o.device)
end

local function take_idx(who, file, o)
  if not o.labels then return take_one(who, file, o) end
  return labels_from_one(core.file_take(who, file, 1, "i64", o.device))
end

-- Is entry e to be left out? What is no tensor at all is, with a note.
local function left_out(path, e, o)
  if not e.why then return false end
  if not (e.foreign or o.skip) then return false end
  core.note(("%s: '%s' is left out: %s"):format(path, e.name, e.why))
  return true
end

local function take_all(who, file, o, path)
  local result, made = {}, {}
  for i, e in ipairs(core.file_entries(file)) do
    if not left_out(path, e, o) then
      local x = core.file_take(who, file, i, o.dtype, o.device)
      put(who, path, o, result, made, e.name, x)
    end
  end
  return result
end

-- A table of tensors, and its metadata where there are any.
local function with_notes(result, notes)
  if next(notes) then return result, notes end -- order-free
  return result
end

local function take_safetensors(who, file, o, path)
  return with_notes(take_all(who, file, o, path), core.file_notes(file))
end

-- A model in several files, which an index names.
local function take_index(who, file, o, path)
  local map, folder = core.file_notes(file), path:match("^.*/") or ""
  local shards, result, made, notes = {}, {}, {}, {}
  for name, shard in pairs(map) do -- order-free
    shards[shard] = shards[shard] or {}
    shards[shard][name] = true
  end
  for _, shard in ipairs(tree.sorted_keys(shards, path)) do
    local part = core.file_open(who, folder .. shard, "safetensors")
    for i, e in ipairs(core.file_entries(part)) do
      if shards[shard][e.name] and not left_out(folder .. shard, e, o) then
        local x = core.file_take(who, part, i, o.dtype, o.device)
        put(who, path, o, result, made, e.name, x)
      end
      shards[shard][e.name] = nil
    end
    local lack = tree.sorted_keys(shards[shard], shard)[1]
    if lack then
      core.fail(("%s: %s: '%s' is not in %s"):format(who, path, lack, shard))
    end
    for k, v in pairs(core.file_notes(part)) do notes[k] = v end -- order-free
    core.file_close(part)
  end
  return with_notes(result, notes)
end

local takers = { csv = take_csv, idx = take_idx, npy = take_one,
  npz = take_all, safetensors = take_safetensors, index = take_index,
  json = take_json, jsonl = take_json }

-- Which options a format has besides dtype, device and format.
local options_of = { csv = "labels header", idx = "labels", npy = "",
  npz = "flat skip", safetensors = "flat skip", index = "flat skip",
  json = "", jsonl = "" }

local function check_fit(who, path, format, o)
  for _, k in ipairs { "labels", "header", "flat", "skip" } do
    if o[k] and not has_word(options_of[format], k) then
      core.fail(("%s: %s: a file of the kind %s has no %s"):format(who, path,
        format, k))
    end
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
  check_fit(who, path, format, o)
  return close(file, takers[format](who, file, o, path))
end

--- read(path, {labels=, header=, dtype=, device=, flat=, skip=, format=}): the tensors
--- in a file: .csv (also .tsv, .txt), .npy, .npz, .safetensors, .json, .jsonl,
--- idx (also .gz). Its first bytes say what it is, else format="csv" or the
--- ending; what comes from a pipe or /dev/stdin needs neither.
--- npy, idx: one tensor, in the dtype that the file has, or as dtype.
--- npz, safetensors: a table. A name like "layers.1.w" becomes nested keys,
--- t.layers[1].w; a part that is a whole number is an integer key. flat=true
--- keeps the names. Of a model in several files, read the index that names
--- them, model.safetensors.index.json. The second result of safetensors is its metadata, a table
--- of strings; where it has none there is no second result. skip=true leaves out what has a dtype that tsh has not.
--- csv: [rows, columns], i64 when every field is an integer like -12, else f32,
--- or dtype; and the array of names when the file begins with a line in which no
--- field is a number. header=true: that line has names whatever they are,
--- header=false: it has none. Separators are comma, semicolon, tab or blanks; an
--- empty field is nan. labels=true: the last column, whole numbers, is a second
--- tensor i64 [rows], labels 0, 1, ... become 1, 2, ..., and the others are f32.
--- names.price is the number of the column of that name: x[{{}, names.price}];
--- a name that no column has is an error.
--- json: a list of numbers, of lists, or of objects of numbers, whose fields
--- are columns in the order of their names, the second result. Values one after
--- the other, as on the lines of a jsonl, are rows. i64 when all are whole, else
--- f32, or dtype; null is nan, true 1, false 0.
--- Nothing in a file is executed, and what is damaged is refused.
--- Example: local x, y = read("digits.csv", {labels = true})
local function read(path, options)
  local o = check_options("read", options,
    "labels header dtype device flat skip format")
  return read_as("read", path, o)
end

local function csv(path, options)
  return read_as("data.csv", path,
    check_options("data.csv", options, "labels header dtype device"), "csv")
end

local function idx(path, options)
  return read_as("data.idx", path,
    check_options("data.idx", options, "labels dtype device"), "idx")
end

-- ---- writing ---------------------------------------------------------------

local SIZE = { f64 = 8, i64 = 8, u64 = 8, c64 = 8, f32 = 4, i32 = 4, u32 = 4,
  f16 = 2, bf16 = 2, i16 = 2, u16 = 2, i8 = 1, u8 = 1, bool = 1 }

-- The largest elements first, so that each tensor lies at a multiple of its
-- element; else the order of the tree.
local function by_size(list)
  for i, e in ipairs(list) do e.place = i end
  table.sort(list, function(a, b)
    local x, y = SIZE[a.tensor.dtype], SIZE[b.tensor.dtype]
    if x ~= y then return x > y end
    return a.place < b.place
  end)
end

-- key, value, key, value ...: strings, in the order of the keys.
local function notes_of(metadata)
  local list = {}
  if metadata == nil then return list end
  if type(metadata) ~= "table" then
    core.fail("write: metadata is a table of strings, got "
      .. core.kind(metadata))
  end
  for _, k in ipairs(tree.sorted_keys(metadata, "metadata")) do
    local v = metadata[k]
    if type(v) == "number" or type(v) == "boolean" then v = tostring(v) end
    if type(k) ~= "string" or type(v) ~= "string" then
      core.fail(("write: metadata['%s']: keys and values are strings, got %s")
        :format(k, core.kind(type(k) == "string" and v or k)))
    end
    list[#list + 1] = k
    list[#list + 1] = v
  end
  for _, text in ipairs(list) do
    if text:find("\0", 1, true) then
      core.fail("write: metadata have no zero byte")
    end
  end
  return list
end

local function check_one(path, value, format)
  if core.is_tensor(value) then return end
  core.fail(("write: %s: .%s takes one tensor, got %s"):format(path, format,
    core.kind(value)), "a table of tensors goes into .npz or .safetensors")
end

local function check_table(path, value, format)
  if type(value) == "table" then return end
  core.fail(("write: %s: .%s takes a table of tensors, got %s"):format(path,
    format, core.kind(value)), "{x = x}")
end

local function names_of(list)
  local tensors, names = {}, {}
  for i, e in ipairs(list) do
    tensors[i], names[i] = e.tensor, e.name
  end
  return tensors, names
end

local function check_header(x, header)
  if header == nil then return {} end
  local columns = #x.shape == 2 and x.shape[2] or 1
  if type(header) ~= "table" or #header ~= columns then
    core.fail(("write: header is a list of %d names, got %s"):format(columns,
      type(header) == "table" and #header or core.kind(header)))
  end
  local named = false
  for i = 1, columns do
    if type(header[i]) ~= "string" then
      core.fail(("write: header: name %d is %s"):format(i,
        core.kind(header[i])))
    end
    named = named or header[i]:match("%S") ~= nil
    if tonumber(header[i]) then
      core.fail(("write: header: '%s' would be read as a number"):format(
        header[i]))
    end
  end
  if columns > 0 and not named then
    core.fail("write: header: one name at least is no blank")
  end
  return header
end

local writers = {}

function writers.npy(path, value)
  check_one(path, value, "npy")
  core.file_write("write", path, "npy", { value }, { "" }, false, {}, {})
end

function writers.json(path, value)
  check_one(path, value, "json")
  core.file_write("write", path, "json", { value }, { "" }, false, {}, {})
end

function writers.csv(path, value, o)
  check_one(path, value, "csv")
  if #value.shape > 2 then
    core.fail(("write: %s: a table has one or two axes, the tensor has %d")
      :format(path, #value.shape), "x:reshape(rows, -1)")
  end
  core.file_write("write", path, "csv", { value }, { "" }, false, {},
    check_header(value, o.header))
end

function writers.npz(path, value, o)
  check_table(path, value, "npz")
  local list = { seen = {} }
  flatten("write", value, nil, {}, list)
  local tensors, names = names_of(list)
  core.file_write("write", path, "npz", tensors, names, o.compress == true, {},
    {})
end

function writers.safetensors(path, value, o)
  check_table(path, value, "safetensors")
  local list = { seen = {} }
  flatten("write", value, nil, {}, list)
  by_size(list)
  local tensors, names = names_of(list)
  core.file_write("write", path, "safetensors", tensors, names, false,
    notes_of(o.metadata), {})
end

local written_with = { npy = "", json = "", csv = "header", npz = "compress",
  safetensors = "metadata" }

local function format_of(path, o)
  local ending = path:match("%.(%w+)$")
  local format = o.format or ending and ending:lower() or ""
  if type(format) == "string" and writers[format] then return format end
  core.fail(("write: %s: no writer for this kind of file"):format(path),
    "it writes .npy .npz .safetensors .csv .json")
end

--- write(path, value, {header=, compress=, metadata=, format=}): a file that
--- read takes back; the ending says which, or format="npy". .npy, .csv and .json
--- take one tensor, .npz and .safetensors a table of tensors, also nested: names
--- are the keys with "." between, "layers.1.w". Two tensors of one name, and
--- what is no tensor, are errors.
--- header={"a","b"}: names of the columns of a csv, whose numbers have as many
--- digits as they need. compress=true: an npz is deflated. metadata={k="v"}:
--- strings for safetensors. NumPy has no bf16: safetensors has.
--- The old file is there until the new one is whole on the disk, whatever
--- happens in between; a process that is killed leaves a part of the new one,
--- .tsh-..., beside it. Links are followed, permissions stay. A pipe or
--- /dev/stdout is written to as it is.
--- Example: write("m.safetensors", params, {metadata = {epoch = "3"}})
local function write(path, value, options)
  check_path("write", path)
  local o = check_options("write", options, "header compress metadata format")
  local format = format_of(path, o)
  for _, k in ipairs { "header", "compress", "metadata" } do
    if o[k] and not has_word(written_with[format], k) then
      core.fail(("write: %s: .%s has no %s"):format(path, format, k))
    end
  end
  writers[format](path, value, o)
end

return { read = read, write = write, csv = csv, idx = idx }
