-- What the samples of a measurement say: median, its interval, outliers.
local stats = {}

local FAR = 3         -- Tukey's outer fences, in distances of the quartiles
local NARROWEST = 0.1 -- a fence is at least so far from its quartile, relative
local CHANCE = 0.05   -- that the median lies outside its interval
local NOISE = 0.01    -- what a process cannot see of itself: started again it
                      -- lies elsewhere in memory, and all its medians with it

-- The value below which a part of a sorted list lies.
local function quantile(sorted, part)
  local at = part * (#sorted - 1) + 1
  local low = math.floor(at)
  local high = math.min(low + 1, #sorted)
  return sorted[low] + (sorted[high] - sorted[low]) * (at - low)
end

local function sorted_copy(list)
  local sorted = table.move(list, 1, #list, 1, {})
  table.sort(sorted)
  return sorted
end

function stats.median(list) return quantile(sorted_copy(list), 0.5) end

-- Mean, and standard deviation as a part of it, of elements first .. last.
local function mean_and_deviation(list, first, last)
  local sum, squares, n = 0, 0, last - first + 1
  for i = first, last do sum = sum + list[i] end
  local mean = sum / n
  for i = first, last do squares = squares + (list[i] - mean) ^ 2 end
  return mean, n > 1 and mean > 0 and math.sqrt(squares / (n - 1)) / mean or 0
end

-- Where the elements inside the outer fences begin and end.
local function inside(sorted)
  local q1, q3 = quantile(sorted, 0.25), quantile(sorted, 0.75)
  local low = q1 - math.max(FAR * (q3 - q1), NARROWEST * q1)
  local high = q3 + math.max(FAR * (q3 - q1), NARROWEST * q3)
  local first, last = 1, #sorted
  while sorted[first] < low do first = first + 1 end
  while sorted[last] > high do last = last - 1 end
  return first, last
end

-- The rank k of n sorted values such that the median of what they were drawn
-- from lies between the k-th from below and the k-th from above, but for
-- CHANCE, whatever their distribution: by the binomial one of n coins. 1 where
-- n is too small for that.
local function rank_of(n)
  local each, below, k = 0.5 ^ n, 0, 0
  repeat
    below = below + each
    each = each * (n - k) / (k + 1)
    k = k + 1
  until 2 * below > CHANCE or k > n // 2
  return math.max(k - 1, 1)
end
stats.rank_of = rank_of

-- stats.summary(turns): turns are lists of samples, in seconds. What is told
-- of them: mean and median of all samples; deviation of those that are no
-- outliers; low and high, the interval of the median: that of the turns'
-- medians by their ranks, and the noise between processes.
function stats.summary(turns)
  local all, medians = {}, {}
  for i, samples in ipairs(turns) do
    table.move(samples, 1, #samples, #all + 1, all)
    medians[i] = stats.median(samples)
  end
  table.sort(all)
  table.sort(medians)
  local first, last = inside(all)
  local mean, deviation_all = mean_and_deviation(all, 1, #all)
  local _, deviation = mean_and_deviation(all, first, last)
  local middle, k = quantile(all, 0.5), rank_of(#medians)
  return { mean = mean, deviation = deviation, deviation_all = deviation_all,
    outliers = #all - (last - first + 1), samples = #all, turns = #medians,
    median = middle, p99 = quantile(all, 0.99),
    low = math.min(medians[k], middle) * (1 - NOISE),
    high = math.max(medians[#medians + 1 - k], middle) * (1 + NOISE),
    min = all[1], max = all[#all] }
end

-- Half of the interval, as a part of the median.
function stats.width(s) return (s.high - s.low) / 2 / s.median end

-- How far a ratio reaches whose parts may be off by a and b.
local function reach(a, b) return math.sqrt(a * a + b * b) end

-- stats.change(now, old): how the median has changed, as a part of the old
-- one: by, low, high (an interval, by the propagation of both errors), and
-- verdict: regressed or improved where all of the interval is.
function stats.change(now, old)
  local ratio = now.median / old.median
  local low = reach(1 - now.low / now.median, old.high / old.median - 1)
  local high = reach(now.high / now.median - 1, 1 - old.low / old.median)
  local c = { by = ratio - 1, low = ratio * (1 - low) - 1,
    high = ratio * (1 + high) - 1 }
  c.verdict = c.low > 0 and "regressed" or c.high < 0 and "improved"
    or "no change"
  return c
end

return stats
