-- Layout, diagonals and positions of the library: shapes, options, errors.
-- Values and gradients by PyTorch stand in the golden file library.txt.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local x = arange(6):view(2, 3)

case("diagonals", "of empty and of large offset", function()
  shape(diagonal(zeros(0, 3)), { 0 })
  shape(diagonal(zeros(3, 0)), { 0 })
  shape(diagonal(x, 3), { 0 })
  shape(diagonal(x, -2), { 0 })
  shape(diagonal(zeros(1, 1, 1, 1, 1, 1, 2, 3), { axis = { -2, -1 } }),
    { 1, 1, 1, 1, 1, 1, 2 })
  eq(trace(zeros(0, 0)), 0)
  shape(diag(zeros(0)), { 0, 0 })
  shape(diag(zeros(0), 2), { 2, 2 })
  dtype(trace(tensor({ { 1, 2 }, { 3, 4 } }, "i32")), "i64")
  dtype(tril(tensor { { true } }), "bool")
  shape(tril(zeros(2, 0, 3)), { 2, 0, 3 })
  eq(triu(x:cast("f64") / 0, 1), { { 0, inf, inf }, { 0, 0, inf } })
  fails(function() trace(zeros(2)) end, "trace: a matrix is needed")
  fails(function() tril(zeros(2)) end, "tril: at least two axes")
  fails(function() diag(zeros(1, 1, 1)) end, "diag: one or two axes")
  fails(function() diagonal(x, { axis = { 1, 1 } }) end, "given twice")
  fails(function() diagonal(x, { axis = 1 }) end, "a list of two axes")
  fails(function() dot(x, x) end, "dot: two tensors of one axis")
  fails(function() dot(ones(2), ones(3)) end, "dot: sizes differ: 2 and 3")
  eq(dot(zeros(0), zeros(0)), 0)
end)

case("repeated", "any number of times", function()
  eq(tile(tensor(5), 3), { 5, 5, 5 })
  shape(tile(tensor(5), {}), {})
  shape(tile(x, 0), { 2, 0 })
  shape(tile(zeros(0, 2), 3, 2), { 0, 4 })
  shape(tile(ones(1, 1, 1, 1, 1, 1, 1, 2), 2, 1, 1, 1, 1, 1, 1, 2),
    { 2, 1, 1, 1, 1, 1, 1, 4 })
  eq(repeat_interleave(tensor(5), 2), { 5, 5 })
  shape(repeat_interleave(x, 0, 2), { 2, 0 })
  eq(repeat_interleave(tensor { 1, 2 }, tensor { 3 }), { 1, 1, 1, 2, 2, 2 })
  shape(repeat_interleave(x, tensor { 0, 0, 0 }, 2), { 2, 0 })
  shape(repeat_interleave(zeros(0), zeros(0, "i64")), { 0 })
  fails(function() tile(x, -1) end, "tile: a number of times must be from 0")
  fails(function() repeat_interleave(x, tensor { 1, 2 }, 2) end,
    "%[2%] numbers for 3 elements")
  fails(function() repeat_interleave(x, tensor { 1, -1, 1 }, 2) end,
    "cannot be below 0")
  fails(function() repeat_interleave(x, tensor { 1.5 }) end, "must be integers")
end)

case("turned", "by any number of places", function()
  eq(roll(tensor { 1, 2, 3 }, -4), { 2, 3, 1 })
  eq(roll(x, 1), { { 6, 1, 2 }, { 3, 4, 5 } })
  eq(roll(x, 3, 2), x)
  shape(roll(zeros(0, 3), 2, 1), { 0, 3 })
  eq(roll(tensor(5), 2), 5)
  fails(function() roll(x, { 1, 2 }, 1) end, "2 numbers of places for 1 axes")
  fails(function() roll(x, { 1, 2 }) end, "2 numbers of places without axes")
  fails(function() roll(x) end, "how many places")
end)

case("cut", "in lists", function()
  check(#split(arange(7), 3) == 3 and #split(arange(6), 3) == 2)
  eq(split(arange(7), 3)[3], { 7 })
  check(#split(zeros(0), 3) == 1)
  shape(split(zeros(0), 3)[1], { 0 })
  check(#chunk(arange(5), 4) == 3 and #chunk(zeros(0), 3) == 3)
  shape(split(x, { 0, 3 }, 2)[1], { 2, 0 })
  check(#unbind(zeros(0, 2)) == 0 and #unbind(tensor { 4, 5 }) == 2)
  shape(unbind(tensor { 4, 5 })[2], {})
  local a, b = table.unpack(chunk(x, 2, -2))
  eq(a, { { 1, 2, 3 } })
  eq(b, { { 4, 5, 6 } })
  fails(function() split(x, 0) end, "split: a size must be from 1, got 0")
  fails(function() split(x, { 1, 1 }, 2) end,
    "sizes sum up to 2, axis 2 has 3 elements")
  fails(function() split(x, { 3, -1 }, 1) end, "must be from 0, got %-1")
  fails(function() chunk(x, 0) end, "number of parts must be from 1")
  fails(function() unbind(tensor(1)) end, "has no axes")
end)

case("meshgrid", "of any number", function()
  local a, b, c = meshgrid(arange(2), tensor(7), arange(3))
  shape(a, { 2, 1, 3 })
  eq(b[{ 2, 1, 3 }], 7)
  eq(c[{ 1, 1, 3 }], 3)
  eq((meshgrid(arange(2))), { 1, 2 })
  eq((meshgrid(arange(2), { indexing = "xy" })), { 1, 2 })
  fails(function() meshgrid(x) end, "argument 1 has the shape %[2,3%]")
  fails(function() meshgrid(arange(2), { indexing = "yx" }) end,
    "indexing is one of ij xy, got 'yx'")
end)

case("positions", "nonzero, gather and their kin", function()
  eq(nonzero(x:gt(4)), { { 2, 2 }, { 2, 3 } })
  shape(nonzero(zeros(3)), { 0, 1 })
  shape(nonzero(zeros(0, 2)), { 0, 2 })
  shape(nonzero(tensor(0)), { 0, 0 })
  eq(x[nonzero(x:gt(4))[{ {}, 1 }]][{ 1, 1 }], 4)
  shape(nonzero(ones(1, 1, 1, 1, 1, 1, 1, 2)), { 2, 8 })
  eq(masked_select(x, tensor(true)), { 1, 2, 3, 4, 5, 6 })
  fails(function() masked_select(x, x) end, "the mask must be bool, not i64")
  fails(function() masked_select(x, tensor { true, false }) end,
    "shapes %[2,3%] and %[2%] do not broadcast")
  shape(gather(x, zeros(0, 3, "i64"), 1), { 0, 3 })
  eq(gather(tensor { 5, 6 }, { 2, -2 }), { 6, 5 })
  fails(function() gather(x, tensor { 1 }, 1) end, "as many axes as x %[2,3%]")
  fails(function() gather(x, tensor { { 1 } }) end, "which of the 2 axes")
  fails(function() gather(x, tensor { { 4 } }, 2):table() end,
    "gather: index 4 is outside 1..3")
  fails(function() gather(x, tensor { { 0 } }, 2):table() end,
    "gather: index 0 is outside 1..3")
  fails(function() gather(x, tensor { { 1.5 } }, 2) end, "must be integers")
  fails(function() gather(x, tensor { { 1, 1, 1, 1 } }, 1) end, "larger than x")
  eq(take_along_axis(x, argmax(x, { axis = 2, keep = true })), { { 3 }, { 6 } })
  eq(take_along_axis(x, tensor { { 2 }, { 1 } }, 1),
    { { 4, 5, 6 }, { 1, 2, 3 } })
  fails(function() take_along_axis(x, tensor { { 1 }, { 1 }, { 1 } }, 2) end,
    "do not broadcast")
  eq(scatter_add(zeros(2, 2), tensor { { 1, 1 } }, 1, 1),
    { { 1, 1 }, { 0, 0 } })
  fails(function() scatter_add(x, tensor { { 1 } }, tensor { { 0.5 } }, 1) end,
    "f32 values do not fit i64 without loss")
  fails(function() scatter_add(zeros(3), { 1, 2 }, ones(1)) end,
    "values %[1%] are smaller than positions %[2%]")
  fails(function() scatter_add(zeros(3), { 4 }, 1):table() end,
    "scatter_add: index 4 is outside 1..3")
end)

case("methods", "those of the first argument", function()
  eq(x:tile(2), tile(x, 2))
  eq(x:roll(1, 2), roll(x, 1, 2))
  eq(x:tril(), tril(x))
  eq(x:nonzero(), nonzero(x))
  eq(x:gather({ { 1 } }, 1), { { 1 } })
  check(#x:split(1) == 2)
  fails(function() x:tiles(2) end, "did you mean 'tile'")
end)

case("require", "library files do not hide those of the user", function()
  for _, name in ipairs { "order", "args", "layout", "create", "ops" } do
    check(not pcall(require, name), name)
  end
  check(require "tsh.order".sort == sort)
end)

done()
