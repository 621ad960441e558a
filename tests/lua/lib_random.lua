-- Draws: where they come from, what they may be, how often.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
local core = require "tsh.core"

-- The upper 64 bits of the product of two numbers without sign, by digits of
-- 16 bits.
local function upper(a, b)
  local function digits(v)
    local d = {}
    for i = 0, 3 do d[i] = v >> 16 * i & 0xffff end
    return d
  end
  local p, q, sum = digits(a), digits(b), {}
  for i = 0, 7 do sum[i] = 0 end
  for i = 0, 3 do
    for j = 0, 3 do sum[i + j] = sum[i + j] + p[i] * q[j] end
  end
  for i = 0, 6 do
    sum[i + 1] = sum[i + 1] + (sum[i] >> 16)
    sum[i] = sum[i] & 0xffff
  end
  return sum[4] | sum[5] << 16 | sum[6] << 32 | (sum[7] & 0xffff) << 48
end

case("randint", "is the words of the stream, scaled", function()
  for _, ends in ipairs { { 1, 6 }, { -3, 3 }, { 0, 1 << 40 },
    { math.mininteger, math.maxinteger - 1 }, { -5, math.maxinteger },
    { 7, 7 } } do
    seed(5)
    local got = vals(randint(ends[1], ends[2], 50))
    local words = vals(core.rand_key(5, 0, 100))
    for i = 1, 50 do
      local u = words[2 * i - 1] << 32 | words[2 * i]
      check(got[i] == upper(u, ends[2] - ends[1] + 1) + ends[1],
        ("%d to %d: element %d"):format(ends[1], ends[2], i))
    end
  end
  seed(5)
  local all = vals(randint(math.mininteger, math.maxinteger, 3))
  local words = vals(core.rand_key(5, 0, 6))
  for i = 1, 3 do
    check(all[i] == (words[2 * i - 1] << 32 | words[2 * i]) + math.mininteger)
  end
  seed(5)
  local small = vals(randint(1, 6, { 50 }, { dtype = "i32" }))
  words = vals(core.rand_key(5, 0, 50))
  for i = 1, 50 do check(small[i] == (words[i] * 6 >> 32) + 1) end
end)

case("stream", "draws follow one another, as rand does", function()
  seed(9)
  local a, b = randint(1, 100, 4), rand(3)
  seed(9)
  local c = randint(1, 100, 4)
  eq(rand(3), b)
  eq(a, c)
  check(not equal(a, randint(1, 100, 4)))
end)

case("shapes", "numbers, one table, options", function()
  shape(randint(1, 6), {})
  shape(randint(1, 6, 2, 3), { 2, 3 })
  shape(randint(1, 6, { 2, 3 }, "i32"), { 2, 3 })
  shape(randint(1, 6, 0), { 0 })
  dtype(randint(1, 6, 2, { dtype = "i32" }), "i32")
  dtype(randint(1, 6, 2), "i64")
  fails(function() randint(3, 1, 2) end, "no number from 3 to 1")
  fails(function() randint(1, 2, 2, { dtype = "f32" }) end, "integers, not f32")
  fails(function() randint(1, 1 << 40, 2, "i32") end, "does not fit i32")
  fails(function() randint(1, 2, 2, { dtyp = "i32" }) end,
    "did you mean 'dtype'")
  fails(function() randint(1, 2, -1) end, "a size must be from 0")
  fails(function() randint(1) end, "the last number must be a whole number")
end)

-- Each of n counts around its chance: within 5 standard deviations.
local function likely(counts, chances, total)
  for i, p in ipairs(chances) do
    local off = math.abs(counts[i] - p * total)
    check(off <= 5 * math.sqrt(total * p * (1 - p)) + 1e-9,
      ("%d: %g of %d"):format(i, counts[i], total))
  end
end

case("chances", "are as they should be", function()
  seed(1)
  local n = 20000
  local sixth = 1 / 6
  likely(vals(bincount(randint(1, 6, n))),
    { sixth, sixth, sixth, sixth, sixth, sixth }, n)
  likely({ sum(bernoulli(full({ n }, 0.3))):item() }, { 0.3 }, n)
  local p = tensor { 1.0, 0.0, 3.0, 4.0 }
  local once = multinomial(p, n, { replacement = true })
  likely(vals(bincount(once, { minlength = 4 })), { 0.125, 0, 0.375, 0.5 }, n)
  local rows = multinomial(broadcast_to(p, { n, 4 }), 2)
  shape(rows, { n, 2 })
  likely(vals(bincount(rows[{ {}, 1 }], { minlength = 4 })),
    { 0.125, 0, 0.375, 0.5 }, n)
  check(count_nonzero(rows[{ {}, 1 }]:eq(rows[{ {}, 2 }])):item() == 0)
  -- all orders of three
  local seen = {}
  for _ = 1, 1200 do
    local t = vals(randperm(3))
    local key = table.concat(t, " ")
    seen[key] = (seen[key] or 0) + 1
  end
  for _, key in ipairs { "1 2 3", "1 3 2", "2 1 3", "2 3 1", "3 1 2",
    "3 2 1" } do
    likely({ seen[key] or 0 }, { sixth }, 1200)
  end
end)

case("permutation", "of numbers and rows", function()
  eq((sort(randperm(100))), vals(arange(100)))
  eq((sort(permutation(10))), vals(arange(10)))
  shape(randperm(0), { 0 })
  dtype(randperm(3, { dtype = "i32" }), "i32")
  local x = arange(20):view(10, 2)
  local y = permutation(x)
  eq(y[{ {}, 2 }] - y[{ {}, 1 }], vals(ones(10, "i64")))
  eq((sort(y, 1)), x)
  fails(function() permutation(tensor(1)) end, "has no axes")
  fails(function() randperm(-1) end, "a size must be from 0, got %-1")
end)

case("multinomial", "refuses what are no chances", function()
  local p = tensor { 1.0, 0.0, 3.0 }
  eq((sort(multinomial(p, 2))), { 1, 3 })
  shape(multinomial(p, 0), { 0 })
  shape(multinomial(zeros(0, 3), 2), { 0, 2 })
  for _ = 1, 20 do
    check(multinomial(tensor { 0.0, 1.0, 0.0 }, 1):item() == 2)
  end
  fails(function() multinomial(p, 3) end, "3 different positions of 2")
  fails(function() multinomial(tensor { 0.0 }, 1) end, "not all 0")
  fails(function() multinomial(tensor { -1.0, 2.0 }, 1) end, "not below 0")
  fails(function() multinomial(tensor { nan, 2.0 }, 1) end, "finite")
  fails(function() multinomial(tensor(1.0), 1) end, "are %[n%] or %[rows, n%]")
  fails(function() multinomial(p, 1, { replacment = true }) end,
    "did you mean 'replacement'")
  fails(function() bernoulli(tensor { 1 }) end, "chances are floats, not i64")
  dtype(bernoulli(tensor({ 0.5 }, "f64")), "f64")
end)

case("spaces", "logspace has exact ends", function()
  eq(logspace(0, 2, 3), { 1, 10, 100 })
  eq(logspace(3, 0, 2, { base = 2 }), { 8, 1 })
  shape(logspace(0, 1, 0), { 0 })
  dtype(logspace(0, 1, 2, { dtype = "f64" }), "f64")
  fails(function() logspace(0, "x", 2) end, "argument 2 must be a number")
  fails(function() logspace(0) end, "argument 2 must be a number, got nil")
  fails(function() logspace(0, 1, 2, { bas = 2 }) end, "did you mean 'base'")
end)

done()
