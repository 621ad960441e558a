-- Measurements that are kept: as JSON, under a name or in a file.
local core = require "tsh.core"

local kept = {}

local function folder()
  local state = os.getenv("XDG_STATE_HOME")
  if not state or state:sub(1, 1) ~= "/" then
    state = (os.getenv("HOME") or "") .. "/.local/state"
  end
  return state .. "/tsh/bench"
end

-- The file of a name; a name that is none is an error.
function kept.path_of(name)
  if not name:match("^[%w_.-]+$") or name:sub(1, 1) == "." then
    core.fail(("bench: '%s' is no name: letters, digits, _ - ."):format(name))
  end
  return folder() .. "/" .. name .. ".json"
end

-- ---- out -------------------------------------------------------------------

-- Where numbers come from: without this they mean nothing next year.
local function machine()
  local devices = {}
  for i, d in ipairs(tsh.devices()) do
    devices[i] = { name = d.name, kind = d.kind, available = d.available,
      description = d.available and d.description or d.reason }
  end
  return { cpu = devices[1].description, devices = devices,
    threads = core.bench_threads(), device = tsh.device() }
end

local function plain(result)
  local rows, o = {}, result.options
  for i, r in ipairs(result.rows) do
    rows[i] = { name = r.name, code = r.job.code, device = r.device,
      input = r.input, first = r.first, calls = r.reps, stats = r.stats,
      work = r.work, change = r.change }
  end
  return { title = result.title, version = tsh.version, unit = "seconds",
    machine = machine(), date = os.date("!%Y-%m-%dT%H:%M:%SZ"),
    options = { time = o.time, warmup = o.warmup, async = o.async or false,
      cold = o.cold or false, vs = o.vs }, rows = rows, notes = result.notes }
end

local function write_file(path, text)
  local f, why = io.stdout, nil
  if path ~= "-" then f, why = io.open(path, "w") end
  if not f then core.fail("bench: " .. why) end
  local ok, failed = f:write(text, "\n")
  local closed, late = true, nil
  if f ~= io.stdout then closed, late = f:close() end
  if not ok or not closed then
    core.fail(("bench: %s: %s"):format(path, failed or late))
  end
end

-- The folder of what will be written must be there before anything is measured.
function kept.prepare(o)
  if o.save then
    kept.path_of(o.save)
    core.make_folder(folder())
  end
  local parent = o.json and o.json:match("^(.*/)[^/]*$")
  if not parent then return end
  local f, why = io.open(parent)
  if not f then
    core.fail(("bench: %s%s"):format(o.json, why:sub(#parent + 1)))
  end
  f:close()
end

-- Does what the options save and json of a result say.
function kept.keep(result)
  local o = result.options
  if not o.save and not o.json then return end
  local text = require("tsh.json").json.encode(plain(result))
  if o.save then write_file(kept.path_of(o.save), text) end
  if o.json then write_file(o.json, text) end
end

-- ---- in --------------------------------------------------------------------

-- What a comparison needs of a row, by its name; nil: it has none of that.
local function rows_of(found)
  local rows = {}
  if type(found) ~= "table" or type(found.rows) ~= "table" then return nil end
  for _, r in ipairs(found.rows) do
    local s = type(r) == "table" and type(r.name) == "string" and r.stats
    if type(s) ~= "table" then return nil end
    for _, k in ipairs { "median", "low", "high" } do
      if math.type(s[k]) == nil or not (s[k] > 0) then return nil end
    end
    rows[r.name] = s
  end
  return rows
end

-- What was kept under a name: rows by their names, and on which cpu.
function kept.read(name)
  local f = io.open(kept.path_of(name))
  if not f then
    core.fail(("bench: nothing is kept as '%s'"):format(name),
      "--save NAME keeps a measurement")
  end
  local text = f:read("a")
  f:close()
  local ok, found = pcall(require("tsh.json").json.decode, text)
  local rows = ok and rows_of(found)
  if not rows then
    core.fail(("bench: what is kept as '%s' is no measurement"):format(name),
      "it is " .. kept.path_of(name) .. "; --save writes it anew")
  end
  return { rows = rows, machine = type(found.machine) == "table"
    and found.machine or {} }
end

-- Notes on how another machine may have been at work.
function kept.notes_of(before, name)
  local here, notes = machine(), {}
  for _, k in ipairs { "cpu", "threads" } do
    local was = before.machine[k]
    if type(was) == type(here[k]) and was ~= here[k] then
      notes[#notes + 1] = ("%s was measured with another %s: %s, now %s")
        :format(name, k == "cpu" and "cpu" or "number of threads", was, here[k])
    end
  end
  return notes
end

return kept
