-- What tsh.bench makes of samples, and of its options. Times are asked for
-- nothing.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
local stats = require "tsh.bench_stats"

local function close(a, b, what)
  check(math.abs(a - b) <= 1e-9 * math.abs(b), ("%s: %.12g, want %.12g")
    :format(what, a, b))
end

-- Turns of ten samples each, about 100 of a unit, without chance.
local function turns_about(middle)
  local turns = {}
  for t = 1, 20 do
    turns[t] = {}
    for i = 1, 10 do turns[t][i] = middle + (t - 10) / 10 + (i - 5) / 10 end
  end
  return turns
end

-- By the tables of the sign test (two-sided, 5 %): the largest rank.
case("rank", "the interval of a median has the ranks of the sign test",
  function()
    for n, k in pairs { [5] = 1, [6] = 1, [8] = 1, [9] = 2, [10] = 2, [12] = 3,
      [15] = 4, [20] = 6, [25] = 8, [30] = 10 } do
      eq(stats.rank_of(n), k, n)
    end
  end)

case("interval", "it is that of the turns' medians, and 1 %", function()
  local s = stats.summary(turns_about(100))
  -- The median of turn t is 100 + (t - 10) / 10 + 0.05.
  close(s.low, (100 + (6 - 10) / 10 + 0.05) * 0.99, "low")
  close(s.high, (100 + (15 - 10) / 10 + 0.05) * 1.01, "high")
  eq(s.samples, 200)
  eq(s.turns, 20)
  eq(s.outliers, 0)
  eq(s.deviation, s.deviation_all)
end)

case("outlier", "one stall counts in the average and nowhere else", function()
  local turns = turns_about(100)
  local before = stats.summary(turns)
  turns[7][3] = 1e6
  local s = stats.summary(turns)
  eq(s.outliers, 1)
  check(s.mean > 5000, s.mean)
  check(s.deviation_all > 10, s.deviation_all)
  check(math.abs(s.deviation - before.deviation) < 1e-3, s.deviation)
  check(math.abs(s.high - before.high) < 0.2 and s.max == 1e6)
end)

case("stalls", "five turns that are disturbed do not move the interval far",
  function()
    local turns = turns_about(100)
    for t = 1, 5 do
      for i = 1, 10 do turns[t][i] = 900 end
    end
    check(stats.summary(turns).high < 103)
  end)

case("equal", "samples that are all the same have no outliers", function()
  local s = stats.summary { { 3, 3, 3 }, { 3, 3 }, { 3 } }
  eq(s.outliers, 0)
  eq(s.deviation, 0)
  eq(s.median, 3)
end)

case("few", "fewer turns than an interval needs give all of them", function()
  local s = stats.summary { { 10 }, { 12 }, { 11 } }
  close(s.low, 9.9, "low")
  close(s.high, 12.12, "high")
end)

case("change", "the errors of both sides add like squares", function()
  local old = { median = 100, low = 97, high = 103 }
  local c = stats.change({ median = 110, low = 110 * 0.96, high = 110 * 1.04 },
    old)
  close(c.by, 0.1, "by")
  close(c.low, 1.1 * 0.95 - 1, "low") -- 3, 4, 5
  close(c.high, 1.1 * 1.05 - 1, "high")
  eq(c.verdict, "regressed")
  eq(stats.change({ median = 104, low = 100, high = 108 }, old).verdict,
    "no change")
  eq(stats.change({ median = 90, low = 88, high = 92 }, old).verdict,
    "improved")
end)

local function refused(options, text)
  local ok, why = pcall(tsh.bench, options)
  check(not ok and tostring(why):find(text, 1, true), tostring(why))
end

case("options", "what makes no sense is refused before anything runs",
  function()
    local function never() error("it ran") end
    refused({}, "takes a table with expressions")
    refused({ 3 }, "entry 1 must be an expression")
    refused({ never, nosuch = 1 }, "unknown option 'nosuch'")
    refused({ never, cold = 1 }, "cold is a boolean")
    refused({ never, unit = "h" }, "a unit is ns, us, ms or s")
    refused({ never, time = -1 }, "time must be from 0")
    refused({ never, time = nan }, "time must be from 0")
    refused({ never, async = true, cold = true }, "never cold")
    refused({ never, fail_over = 0.1 }, "needs vs")
    refused({ never, inputs = { { "x", 1 } } }, "has its inputs")
    refused({ never, save = "a/b" }, "is no name")
  end)

case("slow", "what is slow is called a few times, not for each turn",
  function()
    local n = 0
    local r = tsh.bench { { "slow", function()
      n = n + 1
      local till = os.clock() + 0.005
      repeat until os.clock() > till
    end }, time = 0.01, warmup = 0 }
    eq(r.rows[1].stats.turns, 6)
    check(n < 24, n)
  end)

case("views", "inputs that are views stay views", function()
  local y = rand(8, 4)
  v = y.T
  local movable = require("tsh.core").bench_movable
  check(movable(y) == false, "v lies in its memory")
  check(not movable(v) and not movable(y[1]) and not movable(3))
  check(movable(ones(3) + ones(3)) == false, "it is not computed")
  check(movable(tsh.wait(rand(100000) + 1)))
  local r = tsh.bench { "v + 1", time = 0.02, warmup = 0 }
  eq(r.rows[1].work.kernels, 1)
  check(tsh.bench { "v * 2", time = 0.01, warmup = 0, cold = true }
    .rows[1].work.programs >= 1)
  v = nil
end)

case("globals", "measuring leaves no names and no values changed", function()
  g = tensor { 1.0, 2.0 }
  local seen = {}
  for k in pairs(_G) do seen[k] = true end -- order-free
  tsh.bench { "g * 2", "exp(g)", time = 0.02, warmup = 0 }
  for k in pairs(_G) do check(seen[k], k) end -- order-free
  eq(g, { 1.0, 2.0 })
end)

case("notes", "one for each kind, with all rows that have it", function()
  local screen = require "tsh.bench_table"
  local function row(name, o)
    return { name = name, first = o.first or 0, each = 1e-6, reps = o.reps or 1,
      stats = { low = 1 - (o.off or 0), high = 1 + (o.off or 0), median = 1,
        outliers = o.outliers or 0, samples = 100, max = 2, deviation = 0.01,
        deviation_all = o.outliers and 0.5 or 0.01 } }
  end
  local quiet = row("quiet", {})
  eq(#screen.notes_of({ quiet }), 0)
  local a = row("a", { first = 1, reps = 7, off = 0.5, outliers = 3 })
  local b = row("b", { first = 2, reps = 9, off = 0.25, outliers = 4 })
  local short = screen.notes_of({ a, quiet, b })
  eq(#short, 2)
  check(short[1]:find("^noisy: .*%(a .*50%.0%%; b .*25%.0%%%)$"), short[1])
  check(short[2]:find("%(a 3 of 100 samples, up to 2%.00 s; b 4 of"), short[2])
  local all = screen.notes_of({ a, quiet, b }, true)
  eq(#all, 4)
  check(all[3]:find("(a 1.00 s; b 2.00 s)", 1, true), all[3])
  check(all[4]:find("(a 7 calls; b 9 calls)", 1, true), all[4])
  check(screen.notes_of({ a })[1]:find("%([^ ]*50%.0%%%)$"), "one has no name")
end)

done()
