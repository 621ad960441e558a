-- What does it cost to record an op? Each case is timed with the collection of
-- what it left behind, and set against the empty call of a C function in the
-- same process.
--   tsh run scripts/bench_record.lua [SECONDS]
local seconds = tonumber(arg[1]) or 0.3
local clock = os.clock

-- Seconds per call of the work in f(n), the least of several rounds that end
-- with a full collection; n grows until a round takes a tenth of `seconds`.
local function measure(f)
  local n, least = 1000, math.huge
  local function round()
    collectgarbage()
    local t = clock()
    f(n)
    collectgarbage()
    return clock() - t
  end
  while round() < seconds / 10 do n = n * 2 end
  for _ = 1, 9 do least = math.min(least, round() / n) end
  return least
end

local a, b = tensor { 1.0, 2.0, 3.0, 4.0 }, tensor { 0.5, 0.25, 2.0, 1.0 }

-- rawlen of a string: the shortest C function there is.
local function empty(n)
  local f, s = rawlen, ""
  for _ = 1, n do f(s) end
end

local function one(n)
  for _ = 1, n do local _ = a + b end
end

local function method(n)
  for _ = 1, n do local _ = a:add(b) end
end

local function number(n)
  for _ = 1, n do local _ = a * 2.5 end
end

local function chain()
  local x = a * b + a
  x = x * b + a
  x = x * b + a
  x = x * b + a
  return x * b + a
end

-- Ten ops on four elements, never computed.
local function ten(n)
  for _ = 1, n // 10 do chain() end
end

-- The same, computed: recording, plan, kernel.
local wait = tsh.wait
local function computed(n)
  for _ = 1, n // 10 do wait(chain()) end
end

-- The same with its sum asked for: recording, plan, kernel.
local function asked(n)
  for _ = 1, n // 10 do chain():sum():item() end
end

local unit = measure(empty)
local function report(name, f)
  local t = measure(f)
  print(("%-34s %7.1f ns %6.1f empty calls"):format(name, t * 1e9, t / unit))
end

print(("%-34s %7.1f ns"):format("empty call of a C function", unit * 1e9))
report("a + b", one)
report("a:add(b)", method)
report("a * 2.5", number)
report("chain of ten, per op", ten)
report("chain of ten, computed, per op", computed)
report("chain of ten, its sum read, per op", asked)
