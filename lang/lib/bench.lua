-- Measuring: how long do expressions take, on which device, with what work?
-- Rows are measured in turns, so that a machine that slows down slows all, and
-- each turn has its inputs, its code and its plans at other places in memory:
-- where they lie moves a median by percents, and would else be luck of a run.
local core = require "tsh.core"
local stats = require "tsh.bench_stats"
local screen = require "tsh.bench_table"
local kept = require "tsh.bench_kept"

local ROUNDS = 20         -- turns of a row, if its calls are short enough
local FEWEST = 6          -- turns, which an interval needs
local SHORTEST = 20e-6    -- seconds that a sample should take
local MOST = 50000        -- samples of a row
local RECORDED = 128      -- ops of one sample that only records: a trace is
                          -- not cut for so few
local MOVED = 32 << 20    -- bytes of an input that gets another place

-- ---- what is measured ------------------------------------------------------

-- The names that a piece of Lua may take from outside: its words.
local function words_of(code)
  local words = {}
  for w in code:gsub('"[^"\n]*"', ""):gmatch("[%a_][%w_]*") do
    words[#words + 1] = w
  end
  return words
end

-- An environment with what these words name, tensors moved to the device. It
-- stands in for the globals, so that finding a name costs what it always does.
local function environment(words, inputs, device, used)
  local env = {}
  for _, k in ipairs(words) do
    local v = inputs[k]
    if v == nil then v = core.global(k) end
    if core.is_tensor(v) then
      used[k] = v
      if device then v = v:to(device) end
    end
    env[k] = v
  end
  return setmetatable(env, { __index = core.globals(),
    __newindex = core.globals() })
end

local function load_code(row)
  local f, why = load("return " .. row.job.code, "=bench", "t", row.env)
  if not f then
    core.fail((why:gsub("^bench:%d+", "bench: " .. row.job.code:gsub("%%", "%%%%"))))
  end
  return f
end

local function compiled(row, inputs, used)
  if row.job.run then return row.job.run end
  row.env = environment(words_of(row.job.code), inputs, row.device, used)
  return load_code(row)
end

-- ---- places ----------------------------------------------------------------

-- A copy, as far as it would be as the tensor is: not of a view, or of what
-- shares its memory.
local function moved(v)
  if core.is_tensor(v) and v.dtype ~= "bool" and core.bench_movable(v)
    and core.count(v) * core.dtype_bytes(v.dtype) <= MOVED then
    return core.bench_wait(v + 0)
  end
  return v
end

-- The row goes on at another place: its inputs, its code, its plans. What is
-- kept in row.between keeps the old places from being taken again.
local function move_row(row, turn_number)
  local between = row.between
  for i = 1, turn_number * 7 % 32 do
    between[#between + 1] = { ("x"):rep(turn_number * 97 % 1500 + i) }
  end
  if row.env then
    local env = setmetatable({}, getmetatable(row.env))
    for k, v in pairs(row.env) do rawset(env, k, moved(v)) end -- order-free
    between[#between + 1] = row.run
    row.env = env
    row.run = load_code(row)
  end
  core.bench_forget(true)
end

-- ---- calling ---------------------------------------------------------------

-- f(row, ...) while new tensors are made on the row's device.
local function on_device(row, f, ...)
  local was <close> = setmetatable({ tsh.device() },
    { __close = function(t) tsh.device(t[1]) end })
  if row.device then tsh.device(row.device) end
  return f(row, ...)
end

local COUNTED = { "ops", "kernels", "flushes", "plan_hits", "plan_misses",
  "programs", "bytes_moved", "bytes_allocated" }

-- The work of one call, exactly: the mean of four calls in steady state.
local function work_of(row, options)
  local work, n = {}, 4
  for _, k in ipairs(COUNTED) do work[k] = 0 end
  core.bench_run(row.run, 3, true)
  for _ = 1, n do
    if options.cold then core.bench_forget() end
    local before = tsh.counters()
    core.bench_run(row.run, 1, true)
    local after = tsh.counters()
    for _, k in ipairs(COUNTED) do
      work[k] = work[k] + (after[k] - before[k]) / n
    end
  end
  return work
end

-- Runs for so many seconds; how long a call takes, about.
local function warm_up(row, options)
  local n, calls, spent = 1, 0, 0
  repeat
    if options.cold then core.bench_forget() end
    spent = spent + core.bench_run(row.run, n, true)
    calls = calls + n
    if n < 1000 and not options.cold then n = n * 2 end
  until spent >= options.warmup
  return spent / calls
end

-- What one call gave, to be compared between devices.
local function result_of(row)
  local first
  local function keep()
    first = row.run()
    return first
  end
  core.bench_run(keep, 1, true)
  if core.is_tensor(first) and core.count(first) <= 1 << 22 then
    return first:to("cpu")
  end
end

local TOLERANCE = { f16 = 1e-2, bf16 = 1e-1, f32 = 1e-4, f64 = 1e-10 }

-- The largest relative difference of two results, or nil where they cannot be
-- compared.
local function difference(a, b)
  if not (a and b) or a.shape ~= b.shape or a.dtype ~= b.dtype
    or not TOLERANCE[a.dtype] or core.count(a) == 0 then
    return nil
  end
  local scale = maximum(abs(a):max(), abs(b):max()):item()
  local d = (a - b):abs():max():item()
  d = scale > 0 and d / scale or d
  return d > TOLERANCE[a.dtype] and d or nil
end

-- ---- measuring -------------------------------------------------------------

-- How many calls make a sample: enough for the clock, but what is only
-- recorded must not fill a trace, and what is cold is so once.
local function calls_of(row, options)
  if options.cold then return 1 end
  local n = math.ceil(SHORTEST / math.max(row.each, 1e-9))
  if options.async then
    n = math.min(n, RECORDED // math.max(row.work.ops, 1))
  end
  return math.max(1, math.tointeger(n) or 1)
end

local function prepare(row, options)
  local begin = core.clock()
  if row.job.code then core.show_source("bench", row.job.code) end
  row.result = result_of(row)
  row.first = core.clock() - begin
  row.work = work_of(row, options)
  row.each = warm_up(row, options)
  row.reps = calls_of(row, options)
  local turns = options.time // math.max(row.each, 1e-9)
  row.turns_due = math.max(FEWEST, math.min(ROUNDS, math.tointeger(turns)))
  row.turns, row.between = {}, {}
end

-- One turn of a row: samples for its part of the time.
local function turn(row, options, clock_cost)
  local samples, spent = {}, 0
  local most, seconds = MOST // ROUNDS, options.time / row.turns_due
  if seconds > 20 * row.each and seconds > 4 * row.first then
    move_row(row, #row.turns + 1)
    core.bench_run(row.run, math.min(50, seconds // (20 * row.each)), true)
  end
  repeat
    if options.cold then core.bench_forget() end
    local s = core.bench_run(row.run, row.reps, not options.async)
    spent = spent + s
    samples[#samples + 1] = math.max(s - clock_cost, 0) / row.reps
  until spent >= seconds or #samples >= most
  row.turns[#row.turns + 1] = samples
end

-- What two readings of the clock cost around nothing.
local function cost_of_clock()
  local list = {}
  local function nothing() end
  for i = 1, 200 do list[i] = core.bench_run(nothing, 0, true) end
  return stats.median(list)
end

local function measure(rows, options)
  local clock_cost = cost_of_clock()
  for _, row in ipairs(rows) do on_device(row, prepare, options) end
  collectgarbage()
  for i = 1, ROUNDS do
    for _, row in ipairs(rows) do
      if i <= row.turns_due then
        on_device(row, turn, options, clock_cost)
      end
    end
  end
  for _, row in ipairs(rows) do row.stats = stats.summary(row.turns) end
  return clock_cost
end

-- ---- rows ------------------------------------------------------------------

-- Inputs of one name are alternatives: every choice of one of each name, as
-- lists of inputs. Without inputs the only choice is empty.
local function choices_of(inputs)
  local order, by_name = {}, {}
  for _, input in ipairs(inputs) do
    if not by_name[input.name] then
      by_name[input.name] = {}
      order[#order + 1] = input.name
    end
    table.insert(by_name[input.name], input)
  end
  local choices = { {} }
  for _, name in ipairs(order) do
    local longer = {}
    for _, choice in ipairs(choices) do
      for _, input in ipairs(by_name[name]) do
        local c = table.move(choice, 1, #choice, 1, {})
        c[#c + 1] = input
        longer[#longer + 1] = c
      end
    end
    choices = longer
  end
  return choices
end

local function make_row(job, choice, device, used)
  local values, labels = {}, {}
  for i, input in ipairs(choice) do
    values[input.name], labels[i] = input.value, input.label
  end
  local row = { job = job, device = device or nil,
    input = #labels > 0 and table.concat(labels, " ") or nil }
  row.group = job.name .. (row.input or "")
  row.run = compiled(row, values, used)
  return row
end

-- Every job on every device with every choice of inputs.
local function make_rows(jobs, options)
  local rows, used = {}, {}
  local devices = options.devices or { false }
  local choices = choices_of(options.inputs)
  for _, job in ipairs(jobs) do
    for _, choice in ipairs(choices) do
      for _, device in ipairs(devices) do
        local row, parts = make_row(job, choice, device, used), {}
        if #jobs > 1 or #devices * #choices == 1 then parts[1] = job.name end
        if #choices > 1 then parts[#parts + 1] = row.input end
        if #devices > 1 then parts[#parts + 1] = device end
        row.name = table.concat(parts, " ")
        rows[#rows + 1] = row
      end
    end
  end
  return rows, used
end

local function notes_of(rows, extended)
  local notes, first_of = screen.notes_of(rows, extended), {}
  for _, r in ipairs(rows) do
    local other = first_of[r.group]
    local d = other and difference(other.result, r.result)
    if d then
      notes[#notes + 1] = ("%s and %s differ: by %.1e"):format(other.name,
        r.name, d)
    end
    first_of[r.group] = other or r
  end
  return notes
end

-- ---- against what was kept -------------------------------------------------

local function compare(result)
  local o, found = result.options, false
  for _, r in ipairs(result.rows) do
    local old = result.before.rows[r.name]
    r.change = old and stats.change(r.stats, old)
    found = found or old
  end
  for _, n in ipairs(kept.notes_of(result.before, o.vs)) do
    result.notes[#result.notes + 1] = n
  end
  if o.fail_over and not found then
    core.fail(("bench: '%s' has none of these rows, so that nothing can be "
      .. "compared"):format(o.vs))
  end
end

-- The rows that are slower than the option fail_over allows, for certain.
local function regressions(result)
  local list, limit = {}, result.options.fail_over
  for _, r in ipairs(limit and result.rows or {}) do
    if r.change and r.change.by > limit and r.change.verdict == "regressed" then
      list[#list + 1] = ("%s: %s"):format(r.name, screen.change_text(r.change))
    end
  end
  return list
end

-- ---- the entry -------------------------------------------------------------

local KNOWN = { devices = "table", inputs = "table", time = "number",
  warmup = "number", async = "boolean", cold = "boolean", extended = "boolean",
  unit = "string", save = "string", vs = "string", json = "string",
  fail_over = "number" }

local function check_kinds(options)
  for k, v in pairs(options) do -- order-free
    if type(k) == "string" and type(v) ~= KNOWN[k] then
      core.fail(KNOWN[k] and ("tsh.bench: %s is a %s, got %s"):format(k,
        KNOWN[k], core.kind(v)) or ("tsh.bench: unknown option '%s'"):format(k),
        "it has: async cold devices extended fail_over inputs json save time "
        .. "unit vs warmup")
    end
  end
end

-- All that can be wrong is found before anything is measured.
local function check_options(o)
  check_kinds(o)
  for _, k in ipairs { "time", "warmup" } do
    if o[k] and not (o[k] >= 0 and o[k] < math.huge) then
      core.fail(("tsh.bench: %s must be from 0, got %g"):format(k, o[k]))
    end
  end
  if o.unit and not screen.is_unit(o.unit) then
    core.fail("tsh.bench: a unit is ns, us, ms or s, got " .. o.unit)
  end
  if o.async and o.cold then
    core.fail("tsh.bench: async measures recording, which is never cold")
  end
  if o.fail_over and not o.vs then
    core.fail("tsh.bench: fail_over needs vs, what to compare with")
  end
  if o.devices and #o.devices == 0 then
    core.fail('tsh.bench: devices is empty; {"cpu"} for example')
  end
  kept.prepare(o)
end

local function job_of(x, i, options)
  if type(x) == "string" and x:find("%S") then return { name = x, code = x } end
  local job = type(x) == "function" and { name = "f" .. i, run = x }
    or type(x) == "table" and type(x[2]) == "function"
    and { name = tostring(x[1]), run = x[2] }
  if not job then
    core.fail(("tsh.bench: entry %d must be an expression, a function or "
      .. "{name, function}, got %s"):format(i,
        type(x) == "string" and "an empty one" or core.kind(x)))
  end
  if options.devices or options.inputs then
    core.fail(("tsh.bench: %s is a function, which has its inputs and their "
      .. "device already"):format(job.name),
      'an expression as text can be given others: "softmax(x)"')
  end
  return job
end

local function inputs_of(list)
  local inputs = {}
  for i, input in ipairs(list or {}) do
    if type(input) ~= "table" or type(input[1]) ~= "string" then
      core.fail(("tsh.bench: input %d must be {name, value}"):format(i),
        'inputs={{"x", rand(4)}, {"x", rand(100)}} for example')
    end
    local name, value = input[1], input[2]
    inputs[i] = { name = name, value = value, label = name .. "="
      .. (core.is_tensor(value) and core.describe(value) or tostring(value)) }
  end
  return inputs
end

-- All of a bench but the files that it leaves.
local function measured(options)
  if type(options) ~= "table" or #options == 0 then
    core.fail('tsh.bench: takes a table with expressions, as {"softmax(x)"}')
  end
  check_options(options)
  local o, jobs, names = { time = 2, warmup = 0.5 }, {}, {}
  for k in pairs(KNOWN) do -- order-free
    if options[k] ~= nil then o[k] = options[k] end
  end
  o.inputs = inputs_of(options.inputs)
  for i, x in ipairs(options) do
    jobs[i] = job_of(x, i, options)
    names[i] = jobs[i].name
  end
  local before = o.vs and kept.read(o.vs) or nil
  local rows, used = make_rows(jobs, o)
  local result = setmetatable({ rows = rows, options = o, used = used,
    title = table.concat(names, ", "), before = before },
    { __tostring = screen.text_of })
  result.clock = measure(rows, o)
  result.notes = notes_of(rows, o.extended)
  if before then compare(result) end
  result.regressions = regressions(result)
  for _, r in ipairs(rows) do r.result, r.turns, r.env, r.between = nil end
  return result
end

--- tsh.bench{expression, ..., devices={}, inputs={}, time=2, warmup=0.5}: how
--- long expressions take (texts of Lua, functions, or {name, function}), each
--- until its tensors are computed. devices: names, every expression runs on
--- each. inputs: a list of {name, value}, every expression runs with each.
--- async=true measures recording only, cold=true makes plans and programs anew
--- in every sample; save=, vs= keep results under a name and compare with it,
--- fail_over=0.1 with vs lists what got slower by more in regressions; json=
--- writes a file; extended=true and unit= say more. The result prints as a
--- table; its rows hold stats (seconds) and work (counters of one call).
--- Example: tsh.bench{"softmax(x)", inputs={{"x", rand(4)}}, time=0.1}
local function bench(options)
  local result = measured(options)
  kept.keep(result)
  return result
end

-- For :bench and `tsh bench`: the same, and prints it, before a file that
-- cannot be written is an error. So are slower rows.
local function bench_and_print(options)
  local result = measured(options)
  if options.json ~= "-" then print(tostring(result)) end
  io.stdout:flush()
  kept.keep(result)
  local slow = result.regressions
  if #slow == 0 then return end
  core.fail(("bench: slower than '%s' by more than %g %%: %s"):format(
    options.vs, options.fail_over * 100, table.concat(slow, "; ")))
end

return { bench = bench, bench_and_print = bench_and_print,
  time_text = screen.time_text, bytes_text = screen.bytes_text }
