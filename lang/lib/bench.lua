-- Measuring: how long do expressions take, on which device, with what work?
-- Rows are measured in turns, so that a machine that slows down slows all.
local core = require "tsh.core"

local ROUNDS = 20         -- turns of each row; their medians give the interval
local SHORTEST = 20e-6    -- seconds that a sample should take
local MOST = 50000        -- samples of a row
local NOISY = 0.25        -- deviation that is worth a note

local utf8_screen = (os.getenv("LC_ALL") or os.getenv("LC_CTYPE")
  or os.getenv("LANG") or ""):lower():find("utf%-?8") ~= nil

-- ---- numbers ---------------------------------------------------------------

local UNITS = { { "s", 1 }, { "ms", 1e-3 }, { utf8_screen and "µs" or "us",
  1e-6 }, { "ns", 1e-9 } }
local NAMED = { s = 1, ms = 2, us = 3, ["µs"] = 3, ns = 4 }

local function three_digits(v)
  if v >= 99.95 then return ("%.0f"):format(v) end
  if v >= 9.995 then return ("%.1f"):format(v) end
  return ("%.2f"):format(v)
end

local function time_text(seconds, unit)
  if unit then
    return three_digits(seconds / UNITS[NAMED[unit]][2]) .. " "
      .. UNITS[NAMED[unit]][1]
  end
  for i, u in ipairs(UNITS) do
    if seconds >= u[2] * 0.9995 or i == #UNITS then
      return three_digits(seconds / u[2]) .. " " .. u[1]
    end
  end
end

local function count_text(v)
  for _, u in ipairs({ { " G", 1e9 }, { " M", 1e6 }, { " K", 1e3 } }) do
    if v >= u[2] then return three_digits(v / u[2]) .. u[1] end
  end
  return three_digits(v)
end

local function percent(v)
  return (utf8_screen and "±" or "+-") .. ("%.1f%%"):format(v * 100)
end

-- Characters, not bytes.
local function pad_left(s, width)
  return (" "):rep(width - (utf8.len(s) or #s)) .. s
end

local function pad_right(s, width)
  return s .. (" "):rep(width - (utf8.len(s) or #s))
end

-- ---- statistics ------------------------------------------------------------

-- The value below which a part of a sorted list lies.
local function quantile(sorted, part)
  local at = part * (#sorted - 1) + 1
  local low = math.floor(at)
  local high = math.min(low + 1, #sorted)
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low)
end

local function median(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  return quantile(sorted, 0.5)
end

local function mean_and_deviation(list)
  local sum, squares = 0, 0
  for _, v in ipairs(list) do sum = sum + v end
  local mean = sum / #list
  for _, v in ipairs(list) do squares = squares + (v - mean) ^ 2 end
  return mean, #list > 1 and math.sqrt(squares / (#list - 1)) / mean or 0
end

-- turns: the samples of each turn. The interval of the median is that of the
-- turns' medians, nine of ten of them.
local function summary(turns)
  local all, medians = {}, {}
  for i, samples in ipairs(turns) do
    table.move(samples, 1, #samples, #all + 1, all)
    medians[i] = median(samples)
  end
  table.sort(all)
  table.sort(medians)
  local mean, deviation = mean_and_deviation(all)
  return { mean = mean, deviation = deviation, samples = #all,
    median = quantile(all, 0.5), p99 = quantile(all, 0.99),
    low = quantile(medians, 0.05), high = quantile(medians, 0.95),
    min = all[1], max = all[#all] }
end

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

local function compiled(job, inputs, device, used)
  if type(job.run) == "function" then return job.run end
  local env = environment(words_of(job.code), inputs, device, used)
  local f, why = load("return " .. job.code, "=bench", "t", env)
  if not f then core.fail((why:gsub("^bench:1", "bench"))) end
  return f
end

local COUNTED = { "kernels", "flushes", "plan_hits", "plan_misses",
  "bytes_moved", "bytes_allocated" }

-- The work of one call, exactly: the mean of four calls in steady state.
local function work_of(run)
  core.bench_run(run, 3, true)
  local before, n = tsh.counters(), 4
  core.bench_run(run, n, true)
  local after, work = tsh.counters(), {}
  for _, k in ipairs(COUNTED) do work[k] = (after[k] - before[k]) / n end
  return work
end

-- Runs for so many seconds; how long a call takes, about.
local function warm_up(run, seconds)
  local n, calls, spent = 1, 0, 0
  repeat
    spent = spent + core.bench_run(run, n, true)
    calls = calls + n
    if n < 1000 then n = n * 2 end
  until spent >= seconds
  return spent / calls
end

-- What one call gave, to be compared between devices.
local function result_of(run)
  local first = core.bench_wait(run())
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

local function prepare(row, options)
  local begin = core.clock()
  row.result = result_of(row.run)
  row.first = core.clock() - begin
  row.work = work_of(row.run)
  local each = warm_up(row.run, options.warmup)
  row.reps = math.max(1, math.ceil(SHORTEST / each))
  row.each, row.turns = each, {}
end

-- One turn of a row: samples for its part of the time.
local function turn(row, seconds, options, clock_cost)
  local samples, spent = {}, 0
  local most = MOST // ROUNDS
  repeat
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
  return median(list)
end

local function measure(rows, options)
  local clock_cost = cost_of_clock()
  for _, row in ipairs(rows) do prepare(row, options) end
  collectgarbage()
  for _ = 1, ROUNDS do
    for _, row in ipairs(rows) do
      turn(row, options.time / ROUNDS, options, clock_cost)
    end
  end
  for _, row in ipairs(rows) do row.stats = summary(row.turns) end
  return clock_cost
end

-- ---- rows ------------------------------------------------------------------

-- Every job on every device with every input.
local function make_rows(jobs, options)
  local rows, used = {}, {}
  local devices = options.devices or { false }
  local inputs = #options.inputs > 0 and options.inputs or { false }
  for _, job in ipairs(jobs) do
    for _, input in ipairs(inputs) do
      for _, device in ipairs(devices) do
        local given = input and { [input.name] = input.value } or {}
        local parts = {}
        if #jobs > 1 or (#devices == 1 and #inputs == 1) then
          parts[#parts + 1] = job.name
        end
        if #inputs > 1 then parts[#parts + 1] = input.label end
        if #devices > 1 then parts[#parts + 1] = device end
        rows[#rows + 1] = { name = table.concat(parts, " "), job = job,
          device = device or nil, input = input and input.label or nil,
          group = job.name .. (input and input.label or ""),
          run = compiled(job, given, device or nil, used) }
      end
    end
  end
  return rows, used
end

local function notes_of(rows)
  local notes, first_of = {}, {}
  local function note(...) notes[#notes + 1] = string.format(...) end
  for _, r in ipairs(rows) do
    if r.first > 20 * r.each and r.first > 1e-3 then
      note("the first run of %s took %s (not counted)", r.name,
        time_text(r.first))
    end
    if r.reps > 1 then
      note("%s is very fast, %d calls per sample", r.name, r.reps)
    end
    if r.stats.deviation > NOISY then
      note("%s is noisy: deviation %.0f %%", r.name, r.stats.deviation * 100)
    end
    local other = first_of[r.group]
    local d = other and difference(other.result, r.result)
    if d then note("%s and %s differ: by %.1e", other.name, r.name, d) end
    first_of[r.group] = other or r
  end
  return notes
end

-- ---- the table -------------------------------------------------------------

local function widest(rows, head)
  local width = #head
  for _, r in ipairs(rows) do width = math.max(width, utf8.len(r.name)) end
  return width
end

local function head_line(result)
  local names, parts = {}, {}
  for k in pairs(result.used) do names[#names + 1] = k end -- order-free
  table.sort(names)
  for _, k in ipairs(names) do
    parts[#parts + 1] = ("%s: %s"):format(k, core.describe(result.used[k]))
  end
  return ("%s   %s%s, warm-up %g s, %g s each, clock cost %s removed"):format(
    result.title, #parts > 0 and table.concat(parts, ", ") .. "   " or "",
    result.options.async and "recorded only" or "sync",
    result.options.warmup, result.options.time, time_text(result.clock))
end

local function interval(s)
  return percent((s.high - s.low) / 2 / s.median)
end

local function row_line(r, width, unit)
  local s = r.stats
  return table.concat({ pad_right(r.name, width),
    pad_left(count_text(1 / s.median), 10),
    pad_left(time_text(s.mean, unit), 11),
    pad_left(percent(s.deviation), 11), pad_left(time_text(s.median, unit), 11),
    pad_left(interval(s), 8), pad_left(time_text(s.p99, unit), 11),
    pad_left(("%g"):format(r.work.kernels), 9) })
end

local function bytes_text(v)
  if v < 1000 then return ("%.0f B"):format(v) end
  return count_text(v):gsub(" K$", " k") .. "B"
end

local function extended_line(r, width, unit)
  local s, w = r.stats, r.work
  return table.concat({ pad_right(r.name, width),
    pad_left(time_text(s.min, unit), 11), pad_left(time_text(s.max, unit), 11),
    pad_left(("%d"):format(s.samples), 10),
    pad_left(bytes_text(w.bytes_allocated), 11),
    pad_left(bytes_text(w.bytes_moved), 11),
    pad_left(("%g"):format(w.plan_hits), 6),
    pad_left(("%g"):format(w.plan_misses), 8) })
end

-- By medians, which a machine that is busy now and then moves least.
local function comparison(lines, rows, width)
  local best = rows[1]
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Comparison:"
  for _, r in ipairs(rows) do
    local line = pad_right(r.name, width)
      .. pad_left(count_text(1 / r.stats.median), 10)
    if r ~= best then
      line = ("%s - %.2fx slower +%s"):format(line,
        r.stats.median / best.stats.median,
        time_text(r.stats.median - best.stats.median))
    end
    lines[#lines + 1] = line
  end
end

-- Against numbers of before: different only where the intervals part.
local function change_line(r, old, width)
  local ratio = r.stats.median / old.median - 1
  local verdict = "no change"
  if r.stats.low > old.high then verdict = "slower" end
  if r.stats.high < old.low then verdict = "faster" end
  return ("%s%s  %s"):format(pad_right(r.name, width),
    pad_left(("%+.1f %%"):format(ratio * 100), 10), verdict)
end

local function add_changes(lines, result, rows, width)
  if not result.before then return end
  lines[#lines + 1] = ""
  lines[#lines + 1] = ("Against %s:"):format(result.options.vs)
  for _, r in ipairs(rows) do
    local old = result.before[r.name]
    lines[#lines + 1] = old and change_line(r, old, width)
      or pad_right(r.name, width) .. "  was not measured then"
  end
end

local function text_of(result)
  local rows = table.move(result.rows, 1, #result.rows, 1, {})
  table.sort(rows, function(a, b) return a.stats.median < b.stats.median end)
  local width, unit = widest(rows, "Name"), result.options.unit
  local lines = { head_line(result), pad_right("Name", width)
    .. "       ips    average  deviation     median    95 %     99th %  kernels" }
  for _, r in ipairs(rows) do
    lines[#lines + 1] = row_line(r, width, unit)
  end
  if result.options.extended then
    lines[#lines + 1] = ""
    lines[#lines + 1] = pad_right("Name", width)
      .. "    minimum    maximum   samples  allocated      moved  hits  misses"
    for _, r in ipairs(rows) do
      lines[#lines + 1] = extended_line(r, width, unit)
    end
  end
  if #rows > 1 then comparison(lines, rows, width) end
  add_changes(lines, result, rows, width)
  for _, n in ipairs(result.notes) do lines[#lines + 1] = "note: " .. n end
  return table.concat(lines, "\n")
end

-- ---- kept results ----------------------------------------------------------

local function folder()
  local state = os.getenv("XDG_STATE_HOME")
  if not state or state:sub(1, 1) ~= "/" then
    state = (os.getenv("HOME") or "") .. "/.local/state"
  end
  return state .. "/tsh/bench"
end

local function path_of(name)
  if not name:match("^[%w_.-]+$") or name:sub(1, 1) == "." then
    core.fail(("bench: '%s' is no name: letters, digits, _ - ."):format(name))
  end
  return folder() .. "/" .. name .. ".json"
end

local function plain(result)
  local rows = {}
  for i, r in ipairs(result.rows) do
    rows[i] = { name = r.name, code = r.job.name, device = r.device,
      input = r.input, first = r.first, stats = r.stats, work = r.work }
  end
  return { title = result.title, version = tsh.version, unit = "seconds",
    machine = tsh.devices()[1].description, when = os.time(), rows = rows,
    notes = result.notes }
end

local function write_file(path, text)
  local f, why = io.open(path, "w")
  if not f then core.fail("bench: " .. why) end
  local ok, failed = f:write(text, "\n")
  local closed, late = f:close()
  if not ok or not closed then
    core.fail(("bench: %s: %s"):format(path, failed or late))
  end
end

local function read_before(name)
  local path = path_of(name)
  local f = io.open(path)
  if not f then
    core.fail(("bench: nothing is kept as '%s'"):format(name),
      ":bench --save NAME keeps a measurement")
  end
  local text = f:read("a")
  f:close()
  local kept, before = require("tsh.json").json.decode(text), {}
  for _, r in ipairs(kept.rows) do before[r.name] = r.stats end
  return before
end

local function keep(result)
  local options, encode = result.options, require("tsh.json").json.encode
  if options.save then
    core.make_folder(folder())
    write_file(path_of(options.save), encode(plain(result)))
  end
  if options.json then write_file(options.json, encode(plain(result))) end
end

-- ---- the entry -------------------------------------------------------------

local KNOWN = { devices = "table", inputs = "table", time = "number",
  warmup = "number", async = "boolean", extended = "boolean", unit = "string",
  save = "string", vs = "string", json = "string" }

local function check_options(options)
  for k, v in pairs(options) do -- order-free
    if type(k) == "string" and type(v) ~= KNOWN[k] then
      core.fail(KNOWN[k] and ("tsh.bench: %s is a %s, got %s"):format(k,
        KNOWN[k], core.kind(v)) or ("tsh.bench: unknown option '%s'"):format(k),
        "it has: async devices extended inputs json save time unit vs warmup")
    end
  end
  if options.unit and not NAMED[options.unit] then
    core.fail("tsh.bench: a unit is ns, us, ms or s, got " .. options.unit)
  end
end

local function job_of(x, i)
  if type(x) == "string" then return { name = x, code = x } end
  if type(x) == "function" then return { name = "f" .. i, run = x } end
  if type(x) == "table" and type(x[2]) == "function" then
    return { name = tostring(x[1]), run = x[2] }
  end
  core.fail(("tsh.bench: entry %d must be an expression, a function or "
    .. "{name, function}, got %s"):format(i, core.kind(x)))
end

--- tsh.bench{expression, ..., devices={}, inputs={}, time=2, warmup=0.5}: how
--- long expressions take (texts of Lua, functions, or {name, function}), each
--- until its tensors are computed. devices: names, every expression runs on
--- each. inputs: a list of {name, value}, every expression runs with each.
--- async=true measures recording only; save=, vs= keep results under a name and
--- compare with it; json= writes a file; extended=true and unit= say more. The
--- result prints as a table; its rows hold stats (seconds) and work (counters of
--- one call). Example: tsh.bench{"softmax(x)", inputs={{"x", rand(4)}}, time=0.1}
local function bench(options)
  if type(options) ~= "table" or #options == 0 then
    core.fail('tsh.bench: takes a table with expressions, as {"softmax(x)"}')
  end
  check_options(options)
  local o = { time = options.time or 2, warmup = options.warmup or 0.5,
    async = options.async, extended = options.extended, unit = options.unit,
    save = options.save, vs = options.vs, json = options.json,
    devices = options.devices, inputs = {} }
  local jobs, names = {}, {}
  for i, x in ipairs(options) do
    jobs[i] = job_of(x, i)
    names[i] = jobs[i].name
  end
  for i, input in ipairs(options.inputs or {}) do
    local value = input[2]
    o.inputs[i] = { name = input[1], value = value, label = input[1] .. "="
      .. (core.is_tensor(value) and core.describe(value) or tostring(value)) }
  end
  local before = o.vs and read_before(o.vs) or nil
  local rows, used = make_rows(jobs, o)
  local result = setmetatable({ rows = rows, options = o, used = used,
    title = table.concat(names, ", "), before = before },
    { __tostring = text_of })
  result.clock = measure(rows, o)
  result.notes = notes_of(rows)
  for _, r in ipairs(rows) do r.result, r.turns = nil, nil end
  keep(result)
  return result
end

return { bench = bench, time_text = time_text, bytes_text = bytes_text }
