-- What `tsh WORD` answers: lists for people and, with --json, for programs. A
-- word takes the arguments behind it and prints.
local core = require "tsh.core"
local print_table = require("tsh.grid").print

local word = {}

-- ---- arguments and tables --------------------------------------------------

-- The arguments that are no options, and the set of options; others are
-- refused.
local function parse(name, args, known)
  local plain, set = {}, {}
  for _, a in ipairs(args) do
    if a:sub(1, 2) == "--" then
      if not (" " .. known .. " "):find(" " .. a .. " ", 1, true) then
        core.usage(("%s: unknown option '%s'"):format(name, a),
          "it has: " .. known)
      end
      set[a] = true
    else
      plain[#plain + 1] = a
    end
  end
  return plain, set
end

local function print_json(value)
  print(require("tsh.json").json.encode(value))
end

local function no_arguments(name, plain)
  if #plain > 0 then
    core.usage(("%s: what is '%s' for?"):format(name, plain[1]),
      "tsh help " .. name)
  end
end

-- ---- devices and plugins ---------------------------------------------------

function word.devices(...)
  local plain, set = parse("devices", { ... }, "--json")
  no_arguments("devices", plain)
  if set["--json"] then return print_json(tsh.devices()) end
  core.list_devices()
end

function word.plugins(...)
  local plain, set = parse("plugins", { ... }, "--json")
  no_arguments("plugins", plain)
  if set["--json"] then return print_json(core.plugins()) end
  core.list_plugins()
end

-- ---- ops -------------------------------------------------------------------

local TAKES = { F = "floats", I = "integers", B = "bool" }

local function takes_text(takes)
  if takes == "FIB" then return "any dtype" end
  local parts = {}
  for letter in takes:gmatch(".") do parts[#parts + 1] = TAKES[letter] end
  return table.concat(parts, ", ")
end

-- The first sentence of a function's help, without what belongs to a table.
local function plain_text(s) return (s:gsub("|", "/"):gsub("%s+", " ")) end

local function markdown()
  print("# Ops and functions of tsh\n")
  print("Written by `tsh ops --markdown`; do not edit.\n")
  print("## The op table\n\nWhat a device plugin may be asked to compute "
    .. "(`plugins/tsh_plugin.h`).\n")
  print("| op | class | operands | takes | meaning |\n|---|---|---|---|---|")
  for _, op in ipairs(tsh.ops()) do
    print(("| `%s` | %s | %d | %s | %s |"):format(op.name, op.class, op.arity,
      takes_text(op.takes), plain_text(op.doc)))
  end
  print("\n## Functions\n\n`:doc NAME` in a session shows all of it.\n")
  print("| name | meaning |\n|---|---|")
  local list = core.documented()
  table.sort(list, function(a, b) return a[1] < b[1] end)
  for _, e in ipairs(list) do
    print(("| `%s` | %s |"):format(e[1], plain_text(e[2])))
  end
end

function word.ops(...)
  local plain, set = parse("ops", { ... }, "--json --markdown")
  no_arguments("ops", plain)
  if set["--json"] then return print_json(tsh.ops()) end
  if set["--markdown"] then return markdown() end
  local rows = { { "OP", "CLASS", "OPERANDS", "TAKES", "MEANING" } }
  for i, op in ipairs(tsh.ops()) do
    rows[i + 1] = { op.name, op.class, tostring(op.arity),
      takes_text(op.takes), op.doc }
  end
  print_table(rows)
end

-- ---- data -----------------------------------------------------------------

-- Not for users: what -I, -o and --format of the command line do.
function word.input(name, path) require("tsh.pipes").input(name, path) end
function word.prepare(...) require("tsh.pipes").prepare(...) end
function word.output(...) require("tsh.pipes").output(...) end

-- The tensors of an open file, as {name=, dtype=, shape=, bytes=}.
local list_entries = {}

function list_entries.csv(file)
  local rows, columns, dtype, names = core.file_survey("ls", file)
  return { { name = "", dtype = dtype, shape = { rows, columns },
    bytes = core.dtype_bytes(dtype) * rows * columns } }, names
end

function list_entries.json(file)
  local x, names = core.file_array("ls", file)
  return { { name = "", dtype = x.dtype, shape = { table.unpack(x.shape) },
    bytes = core.count(x) * core.dtype_bytes(x.dtype) } }, names
end
list_entries.jsonl = list_entries.json

-- A model in several files: of each file what the index counts.
function list_entries.index(file, path)
  local map, folder, list = core.file_notes(file), path:match("^.*/") or "", {}
  local tree = require "tsh.tree"
  local shards = {}
  for name, shard in pairs(map) do -- order-free
    shards[shard] = shards[shard] or {}
    shards[shard][name] = true
  end
  for _, shard in ipairs(tree.sorted_keys(shards, path)) do
    local part = core.file_open("ls", folder .. shard, "safetensors")
    for _, e in ipairs(core.file_entries(part)) do
      e.file = shard
      if shards[shard][e.name] then list[#list + 1] = e end
    end
    core.file_close(part)
  end
  return list
end

local function list_file(path)
  local file, format = core.file_open("ls", path == "-" and "/dev/stdin"
    or path)
  local tensors, columns = (list_entries[format] or core.file_entries)(file,
    path)
  local metadata = format == "safetensors" and core.file_notes(file) or {}
  core.file_close(file)
  return { file = path, format = format, tensors = tensors, columns = columns,
    metadata = next(metadata) and metadata or nil } -- order-free
end

local function shape_text(shape) return "[" .. table.concat(shape, ",") .. "]" end

local function plural(n, what)
  return ("%d %s%s"):format(n, what, n == 1 and "" or "s")
end

local function print_rows(f)
  local rows = { { "NAME", "DTYPE", "SHAPE", "BYTES", f.tensors[1].file
    and "FILE" or nil } }
  for i, e in ipairs(f.tensors) do
    rows[i + 1] = { e.name == "" and "-" or e.name, e.dtype or "-",
      e.foreign and "-" or shape_text(e.shape), e.dtype and
      tostring(e.bytes) or "-", e.file or e.why }
  end
  local width = 0
  for _, r in ipairs(rows) do width = math.max(width, #r[4]) end
  for _, r in ipairs(rows) do r[4] = (" "):rep(width - #r[4]) .. r[4] end
  print_table(rows)
end

local function print_file(f)
  local bytes_text, total = require("tsh.commands").bytes_text, 0
  print(("%s: %s"):format(f.file, f.format == "index"
    and "index of safetensors files" or f.format))
  if #f.tensors > 0 then print_rows(f) end
  for _, e in ipairs(f.tensors) do total = total + (e.dtype and e.bytes or 0) end
  if f.columns then print("columns: " .. table.concat(f.columns, ", ")) end
  for _, k in ipairs(require("tsh.tree").sorted_keys(f.metadata or {}, "")) do
    print(("metadata: %s = %s"):format(k, f.metadata[k]))
  end
  print(("%s, %s"):format(plural(#f.tensors, "tensor"), bytes_text(total)))
end

-- Calls each(file) for those that can be read; how many cannot.
local function for_files(paths, each)
  local bad = 0
  if #paths == 1 then
    each(list_file(paths[1]), 1)
    return 0
  end
  for i, path in ipairs(paths) do
    local ok, result = pcall(list_file, path)
    if ok then
      each(result, i)
    else
      io.stdout:flush()
      io.stderr:write("error: ", tostring(result), "\n")
      bad = bad + 1
    end
  end
  return bad
end

function word.ls(...)
  local plain, set = parse("ls", { ... }, "--json")
  if #plain == 0 then core.usage("ls needs FILE, one or more", "tsh help ls") end
  local list = {}
  local bad = for_files(plain, function(f, i)
    if set["--json"] then list[#list + 1] = f return end
    if i > 1 then print("") end
    print_file(f)
  end)
  if set["--json"] then print_json(list) end
  if bad > 0 then
    core.fail(("ls: %d of %s could not be read"):format(bad,
      plural(#plain, "file")))
  end
end

-- ---- bench -----------------------------------------------------------------

local function bench_refuse(text, hint) core.usage("bench: " .. text, hint) end

-- What a script wants to be measured: it defines globals, and returns a text,
-- or a table as tsh.bench takes it.
local function bench_file(path)
  local f, why = loadfile(path ~= "-" and path or nil)
  if not f and (path == "-" or io.open(path)) then core.fail(why) end
  if not f then core.usage("bench: " .. why) end
  local job = f()
  if type(job) == "string" then job = { job } end
  if type(job) == "table" and #job > 0 then return job end
  core.fail(("bench: %s returns %s"):format(path, core.kind(job)),
    'it sets globals, and ends with what is measured: return {"softmax(x)", '
    .. '"exp(x)"}, or a table as tsh.bench takes it')
end

function word.bench(...)
  local line = require "tsh.bench_line"
  local given, job, files = line.of_arguments({ ... }, bench_refuse)
  if #files > 1 then bench_refuse(("what is '%s' for?"):format(files[2])) end
  if #files + #job == 0 then bench_refuse("needs FILE, or -e EXPR") end
  if #files == 1 and #job > 0 then
    bench_refuse(("either FILE or -e, not %s and -e"):format(files[1]))
  end
  if given["fail-over"] and not given.vs then
    bench_refuse("--fail-over needs --vs, what to compare with")
  end
  if #files == 1 then job = bench_file(files[1]) end
  require("tsh.bench").bench_and_print(line.apply(job, given, bench_refuse))
end

-- ---- doctor ----------------------------------------------------------------

local DRIVERS = {
  { "libcuda.so.1", "CUDA driver", "needed by a cuda plugin: install the "
    .. "NVIDIA driver, or run inside a container that was started with GPUs" },
  { "libvulkan.so.1", "Vulkan loader", "needed by a vulkan plugin: install "
    .. "libvulkan1 and a driver (mesa-vulkan-drivers)" },
}

-- What to do about a plugin that was refused, by words of the reason.
local FIXES = {
  { "crashed", "ask its maker; tsh-conform FILE crashes in the same way" },
  { "ended the process", "ask its maker: a plugin must not end the process" },
  { "takes longer", "ask its maker: what takes long belongs into its open" },
  { "tsh_plugin_query", "the file is no plugin of tsh: it must export "
    .. "tsh_plugin_query, which gives a table" },
  { "undefined symbol", "a library that the plugin needs is too old, or the "
    .. "plugin was built for another system" },
  { "cannot open shared object", "install the library that the message names" },
  { "wrong ELF class", "the plugin was built for another processor" },
  { "not for this machine", "the plugin was built for another processor" },
  { "too short", "copy the plugin again" },
  { "cut short", "copy the plugin again" },
  { "invalid ELF", "the file is no shared library: link it with -shared" },
  { "plugin ABI", "build the plugin anew with this tsh_plugin.h" },
  { "its table has", "build the plugin anew with this tsh_plugin.h, all of "
    .. "whose mandatory entries it needs" },
  { "not a file", "give it another name: NAME.so is a plugin here" },
  { "No such file", "the link or the folder that was named leads nowhere" },
  { "that of a device", "rename it: letters and digits make a good name" },
  { "Permission denied", "make the file readable: chmod a+r" },
}

local function fix_for(reason)
  for _, f in ipairs(FIXES) do
    if reason:lower():find(f[1]:lower(), 1, true) then return f[2] end
  end
end

local function env_lines(rows)
  for _, name in ipairs({ "TSH_DEVICE", "TSH_PLUGIN_PATH", "TSH_THREADS",
    "TSH_MEM_LIMIT", "TSH_ISA", "TSH_HISTORY", "TSH_INIT", "TSH_LOG",
    "NO_COLOR", "CLICOLOR_FORCE", "TERM", "LC_ALL", "LANG" }) do
    local v = os.getenv(name)
    if v and v ~= "" then rows[#rows + 1] = { "  " .. name, v } end
  end
end

local function driver_lines(rows)
  for _, d in ipairs(DRIVERS) do
    local found, why = package.loadlib(d[1], "*")
    rows[#rows + 1] = { "  " .. d[2], found and "found, " .. d[1]
      or (why:match("^[^\n]*")) }
    if not found then rows[#rows + 1] = { "", "-> " .. d[3] } end
  end
end

local function plugin_lines(rows)
  local bad = 0
  for _, p in ipairs(core.plugins()) do
    rows[#rows + 1] = { "  " .. p.scheme, p.state .. ", " .. p.path }
    if p.reason ~= "" then rows[#rows + 1] = { "", p.reason } end
    local fix = p.state == "refused" and (fix_for(p.reason)
      or "see docs/PLUGIN.md, or ask its maker")
    if p.state == "refused" then bad = bad + 1 end
    if fix then rows[#rows + 1] = { "", "-> " .. fix } end
  end
  return bad
end

local function device_lines(rows)
  for _, d in ipairs(tsh.devices()) do
    rows[#rows + 1] = { "  " .. d.name, d.available and d.description
      or d.reason }
  end
end

-- Does the default device compute what it should?
local function check_device()
  local x = arange(1, 1000):cast("f32")
  local ok, sum = pcall(function() return sum(x * 2):item() end)
  if ok and sum == 1001000 then return "computes" end
  return "FAILS: " .. tostring(sum)
end

-- The same for programs: what a text says is a field.
local function doctor_json()
  local drivers, environment, plugins = {}, {}, core.plugins()
  local rows, bad = {}, 0
  for i, d in ipairs(DRIVERS) do
    local found, why = package.loadlib(d[1], "*")
    drivers[i] = { name = d[2], file = d[1], found = found and true or false,
      reason = not found and why:match("^[^\n]*") or nil }
  end
  for _, p in ipairs(plugins) do
    if p.state == "refused" then
      bad, p.help = bad + 1, fix_for(p.reason)
    end
  end
  env_lines(rows)
  for _, r in ipairs(rows) do environment[r[1]:match("%S+")] = r[2] end
  print_json { version = tsh.version, abi = core.abi(),
    lua = core.lua_release(), editing = core.editor(),
    devices = tsh.devices(), default = { name = tsh.device(),
    state = check_device() }, drivers = drivers, plugins = plugins,
    environment = environment }
  return bad
end

local function refuse(bad)
  if bad == 0 then return end
  core.fail(("%d plugin%s refused; the lines with -> say what helps"):format(
    bad, bad == 1 and " was" or "s were"))
end

function word.doctor(...)
  local plain, set = parse("doctor", { ... }, "--json")
  no_arguments("doctor", plain)
  if set["--json"] then return refuse(doctor_json()) end
  local rows = {}
  local function line(a, b) rows[#rows + 1] = { a, b or "" } end
  line("tsh", tsh.version .. ", plugin ABI " .. core.abi())
  line("Lua", core.lua_release())
  line("editing", core.editor())
  line("devices")
  device_lines(rows)
  line("  default: " .. tsh.device(), check_device())
  line("drivers")
  driver_lines(rows)
  line("plugins")
  local bad = plugin_lines(rows)
  line("environment")
  env_lines(rows)
  print_table(rows)
  refuse(bad)
end

return { word = word }
