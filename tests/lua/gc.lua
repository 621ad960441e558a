-- Memory: what is dropped is freed in time, also beside many live tables.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local MIB = 1 << 20
local function live() return tsh.counters().bytes_live end
local function peak() return tsh.counters().bytes_peak end

-- n temporaries of 64 KiB, each computed, as a loop of a script leaves them.
local function temporaries(n)
  local x = zeros(16384)
  local t = os.clock()
  for i = 1, n do
    local y = x + i
    y[1]:item()
  end
  return os.clock() - t
end

local seconds
case("temporaries", "20,000 of 64 KiB stay below 96 MiB", function()
  collectgarbage()
  local before = live()
  seconds = temporaries(20000)
  check(peak() - before <= 96 * MIB, ("peak %d MiB"):format(peak() // MIB))
end)

case("big heap", "a million live tables cost at most 3 x", function()
  local tables = {}
  for i = 1, 1000000 do tables[i] = { i } end
  local slower = temporaries(20000)
  check(slower <= 3 * seconds + 0.05,
    ("%.2f s, %.2f s without"):format(slower, seconds))
  check(peak() <= 96 * MIB, ("peak %d MiB"):format(peak() // MIB))
  check(#tables == 1000000)
end)

case("uncomputed", "temporaries that nobody asks for cost nothing", function()
  collectgarbage()
  local x, before = zeros(16384), live()
  for i = 1, 20000 do local _ = x * i + 1 end
  check(live() - before < 8 * MIB)
end)

case("data", "tensors made from Lua values", function()
  local list = {}
  for i = 1, 16384 do list[i] = i + 0.5 end
  for _ = 1, 2000 do local _ = tensor(list) end
  check(peak() <= 96 * MIB, ("peak %d MiB"):format(peak() // MIB))
end)

-- Young collections find what a step with gradients of one's own leaves: the
-- first full one is due above 64 MiB only.
case("custom", "30 steps with custom gradients keep no intermediates", function()
  local x, w = ones(8, 4, 64, 64), ones(4, 4, 3, 3)
  local step = grad(function(v)
    return sum(max_pool2d(conv2d(x, v, { padding = 1 }), 2))
  end)
  local function steps(n)
    for _ = 1, n do w = w - 1e-6 * step(w); w[1]:sum():item() end
  end
  collectgarbage()
  steps(4)
  local before = live()
  steps(26)
  check(live() - before < 1 * MIB, ("%d KiB more"):format(
    (live() - before) // 1024))
end)

case("ring", "100 x 1 MB over 6,000 steps stay below 250 MB", function()
  collectgarbage()
  local ring, one = {}, ones(250000)
  for i = 1, 6000 do
    ring[i % 100 + 1] = one * i
    if i % 10 == 0 then ring[i % 100 + 1][1]:item() end
  end
  check(peak() <= 250e6, ("peak %.0f MB"):format(peak() / 1e6))
  check(ring[1][1]:item() == 6000)
end)

case("dropped", "a full collection frees everything", function()
  local before = live()
  do
    local keep = {}
    for i = 1, 50 do keep[i] = zeros(100000) + i end
    keep[50][1]:item()
  end
  tsh.collect()
  check(live() <= before, ("%d left"):format(live() - before))
end)

case("incremental", "a script may switch the mode", function()
  collectgarbage("incremental")
  local x = zeros(16384)
  for i = 1, 2000 do
    x = x + 1
    if i % 100 == 0 then check(x[1]:item() == i) end
  end
  collectgarbage("stop")
  for i = 1, 2000 do
    x = x + 1
    if i % 100 == 0 then check(x[1]:item() == 2000 + i) end
  end
  collectgarbage("restart")
  collectgarbage("generational")
  check(x[16384]:item() == 4000)
end)

case("finalizers", "may record and ask", function()
  local seen = 0
  local function leave(v)
    setmetatable({}, { __gc = function()
      seen = seen + (tensor { v, v }:sum() + 1):item()
    end })
  end
  for i = 1, 10 do
    leave(i)
    local _ = (zeros(16384) + i):sum():item()
  end
  collectgarbage()
  collectgarbage()
  check(seen == 2 * 55 + 10, seen)
end)

case("coroutines", "record and ask as any code", function()
  local co = coroutine.wrap(function()
    local x = tensor { 1.0, 2.0 }
    while true do
      x = x + 1
      coroutine.yield(x:sum():item())
    end
  end)
  check(co() == 5 and co() == 7)
  collectgarbage()
  check(co() == 9)
end)

case("deep graph", "recorded, dropped, computed", function()
  do
    local x = tensor { 1.0, 2.0 }
    for _ = 1, 100000 do x = sin(x) end
  end
  collectgarbage()
  local y = tensor { 0.0 }
  for _ = 1, 100000 do y = y + 1 end
  eq(y, { 100000 })
end)
-- A variable of a closure holds its new value for old, in Lua's eyes: no young
-- collection finds the values that it had before.
case("gc", "a value that a closure replaces is overwritten in place", function()
  local function stepper()
    local w = zeros(256, 1024)
    return function()
      w = w + 1
      return w[1][1]:item()
    end
  end
  local step = stepper()
  for _ = 1, 20 do step() end
  local before, live = tsh.counters(), 0
  for _ = 1, 200 do
    step()
    live = math.max(live, tsh.counters().bytes_live)
  end
  check(tsh.counters().in_place - before.in_place > 150)
  check(live - before.bytes_live < 5 * 4 * 256 * 1024)
  check(step() == 221)
end)

done()
