-- What does softmax cost, on a handful of numbers and on many?
--
--   tsh run scripts/bench_softmax.lua [SECONDS]
--
-- A call is recorded, planned, computed and waited for; the time is the least
-- of several rounds, in seconds of the processor, which add up where several
-- threads work. The kernels are those of one call.
local seconds = tonumber(arg[1]) or 0.3
local clock, wait = os.clock, tsh.wait

-- Seconds per call of f.
local function measure(f)
  local n, least = 1, math.huge
  local function round()
    local t = clock()
    for _ = 1, n do f() end
    return clock() - t
  end
  while round() < seconds / 10 do n = n * 2 end
  for _ = 1, 9 do least = math.min(least, round() / n) end
  return least
end

local function kernels(f)
  local before = tsh.counters().kernels
  f()
  return tsh.counters().kernels - before
end

print(("%-22s %12s %8s %14s"):format("softmax of", "time", "kernels",
  "ns an element"))
for _, shape in ipairs { { 4 }, { 100000 }, { 1000, 100 }, { 100, 1000 } } do
  local x = randn(shape)
  wait(x)
  local function call() wait(x:softmax({ axis = -1 })) end
  call()
  local count, n, k, t = x.shape, 1, kernels(call), measure(call)
  for i = 1, #count do n = n * count[i] end
  print(("%-22s %9.2f us %8d %14.3f"):format(tostring(count), t * 1e6, k,
    t * 1e9 / n))
  assert(k == 1, "softmax is one kernel")
  local rows = x:softmax({ axis = -1 }):sum({ axis = -1 })
  assert(allclose(rows, ones_like(rows)), "rows of a softmax sum to 1")
end
