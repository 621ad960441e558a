-- Memory as the machine sees it: VmRSS and VmHWM of this process.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

-- A sanitizer keeps what is freed for a while, which is not ours to measure.
local SANITIZED = os.getenv("ASAN_OPTIONS") ~= nil and (function()
  local f = io.open("/proc/self/maps")
  local text = f and f:read("a") or ""
  if f then f:close() end
  return text:find("asan", 1, true) ~= nil
end)()

local function status(name)
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^" .. name .. ":%s*(%d+) kB")
    if kib then return tonumber(kib) / 1024 end
  end
  error("no " .. name .. " in /proc/self/status")
end

-- The most MiB that f adds; the peak is set back before it where one may.
local function peak(f)
  local reset = io.open("/proc/self/clear_refs", "w")
  if reset then
    reset:write("5")
    reset:close()
  end
  local before = status("VmRSS")
  f()
  return status("VmHWM") - before
end

local function at_most(limit, what, f)
  local mib = peak(f)
  if SANITIZED then return end
  check(mib <= limit, ("%s: %.0f MiB"):format(what, mib))
end

-- n temporaries of 64 KiB, each computed and dropped.
local function temporaries(n)
  local x = zeros(16384)
  local t = os.clock()
  for i = 1, n do
    local y = x + i
    y[1]:item()
  end
  return os.clock() - t
end

local alone
case("temporaries", "20,000 of 64 KiB add at most 96 MiB", function()
  at_most(96, "20,000 temporaries", function() alone = temporaries(20000) end)
end)

case("ring", "100 x 1 MB over 6,000 steps stay below 250 MB", function()
  local ring, one = {}, ones(250000)
  at_most(250e6 / 2 ^ 20, "the ring", function()
    for i = 1, 6000 do
      ring[i % 100 + 1] = one * i
      if i % 10 == 0 then ring[i % 100 + 1][1]:item() end
    end
  end)
  for i = 0, 99 do eq(ring[i + 1][250000], i == 0 and 6000 or 5900 + i) end
end)

-- ---- more than the machine has ----------------------------------------------
case("too large", "an error that says so, and variables survive", function()
  local keep = arange(5) * 2
  local big = zeros(2 ^ 20, 2 ^ 20)
  for _, f in ipairs { function() return big:table() end,
    function() return (big + 1):set(1, 1):sum():item() end,
    function() return rand({ 2 ^ 20, 2 ^ 20 }):set(1, 1):table() end } do
    local ok, e = pcall(f)
    check(not ok, "4 TiB were written")
    check(e:find("memory"), e)
    check(#e < 2000, "a long error")
  end
  eq(keep, { 2, 4, 6, 8, 10 })
  eq(keep + 1, { 3, 5, 7, 9, 11 })
  fails(function() return zeros(2 ^ 40, 2 ^ 40) end, "elements")
  eq(keep:sum(), 30)
end)

case("one of many", "a value too large fails alone", function()
  local small = ones(3) * 7
  local big = rand({ 2 ^ 20, 2 ^ 20 })
  local third = small + 1
  eq(third, { 8, 8, 8 })
  eq(small, { 7, 7, 7 })
  fails(function() return big:table() end, "memory")
  eq(small + third, { 15, 15, 15 })
end)

case("a part", "of a large value that is never held only the part is made",
  function()
    at_most(64, "a part", function()
      eq((zeros(2 ^ 20, 2 ^ 20) + 3)[{ 7, 2 ^ 20 }], 3)
    end)
  end)

-- ---- beside a large Lua heap ------------------------------------------------
case("tables", "a million live tables do not slow temporaries much", function()
  local tables = {}
  for i = 1, 1000000 do tables[i] = { i } end
  local beside = temporaries(20000)
  print(("20,000 temporaries: %.2f s alone, %.2f s beside a million tables")
    :format(alone or 0, beside))
  check(not alone or beside <= 5 * alone + 0.05)
  check(#tables == 1000000)
end)

done()
