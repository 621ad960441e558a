-- Order, scans and counts of the library: shapes, options, errors. Values and
-- gradients by PyTorch and NumPy stand in the golden file library.txt.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local x = tensor({ { 3, -2, 5 }, { 4, 5, -6 } }, "f32")

local function second(...) return (select(2, ...)) end

case("methods", "each function of one tensor is one", function()
  for _, name in ipairs { "sort", "argsort", "median", "unique",
    "count_nonzero", "amax", "amin", "histogram" } do
    eq(x[name](x), _G[name](x))
  end
  eq(x:topk(2), (topk(x, 2)))
  eq(x:cumsum(1), cumsum(x, { axis = 1 }))
  eq(tensor { 1, 3 }:bincount(), { 1, 0, 1 })
  eq(tensor { 1, 3 }:searchsorted(tensor { 2 }), { 2 })
end)

case("no axes", "are one element", function()
  local s = tensor(7)
  for _, f in ipairs { sort, argsort, median, cumsum, cumprod, amax,
    count_nonzero } do
    shape(f(s), {})
  end
  eq(second(sort(s)), 1)
  eq((topk(s, 1)), 7)
  shape(topk(s, 0), { 0 })
  eq((median(s, 1)), 7)
  eq(second(median(s, -1)), 1)
  eq(unique(s), { 7 })
  eq(cumsum(s, -1), 7)
  eq(searchsorted(tensor { 1, 2 }, 1.5), 2)
  fails(function() sort(s, 2) end, "sort: axis 2 of a tensor that has no axes")
end)

case("nothing", "no element, and axes of extent 1", function()
  local none = zeros(0, 3)
  for _, axis in ipairs { 1, 2, -1, -2 } do
    shape(sort(none, axis), { 0, 3 })
    shape(argsort(none, axis), { 0, 3 })
    shape(cumsum(none, axis), { 0, 3 })
    shape(cumprod(none, axis), { 0, 3 })
  end
  shape(topk(none, 0, { axis = 1 }), { 0, 3 })
  shape(topk(none, 2), { 0, 2 })
  shape(median(none, 2), { 0 })
  fails(function() median(none, 1) end, "median: axis 1 has no element")
  fails(function() median(none) end, "median: axis 1 has no element")
  local values, inverse, counts = unique(none,
    { inverse = true, counts = true })
  shape(values, { 0 })
  shape(inverse, { 0, 3 })
  shape(counts, { 0 })
  shape(searchsorted(zeros(0), ones(2, 2)), { 2, 2 })
  eq(searchsorted(zeros(0), ones(2)), { 1, 1 })
  shape(searchsorted(ones(2), none), { 0, 3 })
  eq((histogram(zeros(0), 2)), { 0, 0 })
  eq(second(histogram(zeros(0), 2)), { 0, 0.5, 1 })
  shape(bincount(zeros(0, "i64")), { 0 })
  eq(bincount(zeros(0, "i64"), { minlength = 2 }), { 0, 0 })
  eq(count_nonzero(none, 1), { 0, 0, 0 })
  eq(sort(ones(3, 1), 2), { { 1 }, { 1 }, { 1 } })
  shape(sort(ones(1, 1, 1, 1, 1, 1, 1, 3), -1), { 1, 1, 1, 1, 1, 1, 1, 3 })
  shape(cumsum(ones(1, 1, 1, 1, 1, 2, 1, 3), 6), { 1, 1, 1, 1, 1, 2, 1, 3 })
end)

case("dtypes", "of results", function()
  local i, b = tensor({ 3, 1 }, "i32"), tensor { true, false }
  dtype(sort(i), "i32")
  dtype(argsort(i), "i64")
  dtype(sort(b), "bool")
  dtype(topk(i, 1), "i32")
  dtype(median(i), "i32")
  dtype(cumsum(i), "i64")
  dtype(cumsum(b), "i64")
  dtype(cumprod(x, 1), "f32")
  dtype(count_nonzero(x), "i64")
  dtype(searchsorted(i, i), "i64")
  dtype(second(histogram(x)), "f32")
  dtype(second(histogram(i)), "f64")
  dtype(bincount(i), "i64")
  dtype(bincount(i, { weights = tensor { 0.5, 1.0 } }), "f32")
  eq(bincount(i, { weights = b }), { 0, 0, 1 })
end)

case("order", "of nan, zeros and both directions", function()
  eq((sort(tensor { 1.0, nan, -inf, inf })), { -inf, 1, inf, nan })
  eq((sort(tensor { 1.0, nan, 2.0 }, { descending = true })), { nan, 2, 1 })
  eq(argsort(tensor { 0.0, -0.0, 0.0 }), { 1, 2, 3 })
  eq(argsort(tensor { 2, 2, 3 }, { descending = true }), { 3, 1, 2 })
  eq(searchsorted(tensor { 1.0, inf, nan }, tensor { nan, inf, 2 }),
    { 3, 2, 2 })
  eq(searchsorted(tensor { 1.0, nan, nan }, nan, { right = true }), 4)
  eq((unique(tensor { nan, 1.0, nan })), { 1, nan, nan })
  local v, at = median(tensor { { 1.0, nan, nan }, { 3.0, 1.0, 2.0 } }, 2)
  eq(v, { nan, 2 })
  eq(at, { 2, 3 })
  for n = 1, 40 do
    local s = arange(n) * 2
    eq(searchsorted(s, s), vals(arange(n)))
    eq(searchsorted(s, s - 1), vals(arange(n)))
    eq(searchsorted(s, s, { right = true }), vals(arange(n) + 1))
  end
end)

case("histogram", "ranges and edges", function()
  eq((histogram(tensor { 1.0, 2.0, nan }, 2, 0, 2)), { 0, 2 })
  eq((histogram(tensor { 1.0, 2.0, inf }, { bins = 2, lo = 0, hi = 4 })),
    { 1, 1 })
  eq((histogram(tensor { 5, 5 }, 4)), { 0, 0, 2, 0 })
  eq((histogram(tensor { 0, 1, 5, 6 }, tensor { 0, 1, 5 })), { 1, 2 })
  eq((histogram(tensor { 1.0, nan }, tensor { 0.0, 1.0, 2.0 })), { 0, 1 })
  eq((histogram(tensor { true, false, true }:cast("i64"), 2)), { 1, 2 })
  fails(function() histogram(tensor { 1.0, nan }) end, "is no range")
  fails(function() histogram(x, 2, 3, 1) end, "range 3 to 1 is empty")
  fails(function() histogram(x, 0) end, "number of bins must be from 1, got 0")
  fails(function() histogram(x, 2, 1) end, "lo and hi are given together")
  fails(function() histogram(x, { bin = 2 }) end, "did you mean 'bins'")
  fails(function() histogram(x, tensor { 1 }) end, "edges are a tensor of one")
end)

case("errors", "name the function and what it got", function()
  fails(function() sort(5) end, "sort: argument 1 must be a tensor")
  fails(function() sort(x, 3) end, "sort: axis 3 is outside 1..2")
  fails(function() sort(x, 0) end, "axes count from 1")
  fails(function() sort(x, { axes = 1 }) end, "did you mean 'axis'")
  fails(function() sort(x, 1, 2) end, "sort: options are a table")
  fails(function() sort(x, 1, { axis = 2 }) end, "sort: axis is given twice")
  fails(function() sort(x, { axis = 1 }, {}) end, "in one table, the last")
  fails(function() sort(x, { descending = 1 }) end, "must be true or false")
  fails(function() topk(x, 4) end, "topk: k is 4, axis 2 has 3 elements")
  fails(function() topk(x, -1) end, "topk: k is %-1")
  fails(function() topk(x) end, "topk: k must be a whole number, got nil")
  fails(function() topk(x, 1.5) end, "topk: k must be a whole number, got 1.5")
  fails(function() cumsum(x) end, "cumsum: which of the 2 axes")
  fails(function() cumsum(x, 4) end, "cumsum: axis 4 is outside")
  fails(function() bincount(x) end, "bincount: integers are counted, not f32")
  fails(function() bincount(tensor { 0 }) end, "count from 1: labels 0..9")
  fails(function() bincount(tensor { -1 }) end, "%-1 is no position")
  fails(function() bincount(tensor { 1 }, { weights = ones(2) }) end,
    "%[2%] weights for %[1%] elements")
  fails(function() searchsorted(x, ones(3, 2)) end, "rows of %[2,3%] and")
  fails(function() searchsorted(tensor(1), x) end, "has no axes")
  fails(function() unique(x, { count = true }) end, "did you mean 'counts'")
  fails(function() amax(x, { axis = { 1, 1 } }) end, "amax: axis 1 is given")
  fails(function() amax(zeros(0)) end)
end)

case("gradients", "of values that are picked", function()
  eq(gradat(function(v) return (sort(v)) * tensor({ 1, 2, 3 }, "f64") end,
    { 5, 1, 3 }), { 3, 1, 2 })
  eq(gradat(function(v) return (topk(v, 2)) end, { 5, 1, 3 }), { 1, 0, 1 })
  eq(gradof(median, { 4, 1, 3, 2 }), { 0, 0, 0, 1 })
  eq(gradof(median, { 2, 2, 3, 1 }), { 0.5, 0.5, 0, 0 })
  eq(gradat(function(v) return (median(v, 1)) end, { 2, 2, 3, 1 }),
    { 1, 0, 0, 0 })
  eq(gradat(unique, { 2, 1, 2 }), { 1, 1, 0 })
  -- second derivatives: of cumsum(x)^2 and of sort(x)^3 there
  eq(gradat(function(v)
    return grad(function(w) return sum(cumsum(w) ^ 2) end)(v)
  end, { 1, 2, 3 }), { 12, 10, 6 })
  eq(gradat(function(v)
    return grad(function(w) return sum((sort(w)) ^ 3) end)(v)
  end, { 3, 1, 2 }), { 18, 6, 12 })
  gradcheck(function(v) return sum(cumprod(v) ^ 2) end,
    tensor({ 0.5, 0, 2, -1 }, "f64"))
end)

done()
