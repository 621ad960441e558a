-- Functions of the library that are compositions: options, errors, methods.
-- Their values and gradients stand in golden.lua and grad.lua.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local x = tensor({ { 1, -2, 3 }, { 4, 5, -6 } }, "f32")

case("methods", "each function is one", function()
  for _, name in ipairs { "clamp", "nan_to_num", "isclose", "hypot", "flip",
    "layer_norm", "logsumexp", "std", "norm", "leaky_relu", "silu", "gelu",
    "softplus", "logaddexp", "outer", "diff" } do
    local y = name == "clamp" and { 0, 1 } or { x }
    local binary = name == "isclose" or name == "hypot" or name == "logaddexp"
      or name == "outer" or name == "clamp"
    if not binary then y = {} end
    eq(x[name](x, table.unpack(y)), _G[name](x, table.unpack(y)))
  end
end)

case("dtypes", "of integers and f64", function()
  local i = tensor({ 3, 4 }, "i32")
  dtype(std(i), "f32")
  dtype(norm(i), "f32")
  eq(norm(i), 5)
  dtype(logsumexp(i), "f32")
  dtype(softplus(i), "f32")
  dtype(flip(i), "i32")
  dtype(diff(i), "i32")
  dtype(outer(i, i), "i32")
  dtype(layer_norm(x:cast("f64")), "f64")
  dtype(clamp(i, 0, 3), "i32")
  dtype(clamp(i, 0.5, 3), "f32")
  eq(nan_to_num(i), { 3, 4 })
end)

case("axes", "one, several, negative, kept", function()
  near(norm(x, { axis = 2 }), { math.sqrt(14), math.sqrt(77) }, 1e-6)
  shape(norm(x, { axis = { 1, 2 }, keep = true }), { 1, 1 })
  shape(logsumexp(x, { axis = -1, keep = true }), { 2, 1 })
  shape(std(x, 1), { 3 })
  eq(flip(x, 2), { { 3, -2, 1 }, { -6, 5, 4 } })
  eq(flip(x, { axis = { 1, -1 } }), { { -6, 5, 4 }, { 3, -2, 1 } })
  eq(diff(x, { axis = 1 }), { { 3, 7, -9 } })
  eq(diff(x, 2), { { 8 }, { -12 } })
  shape(diff(x, 3), { 2, 0 })
  shape(diff(x, 5), { 2, 0 })
  shape(stack({ x, x }, -1), { 2, 3, 2 })
  eq(stack({ tensor(1), tensor(2) }), { 1, 2 })
  shape(stack({ zeros(0), zeros(0) }, 2), { 0, 2 })
end)

case("logsumexp", "of -inf alone is -inf, with gradient 0", function()
  eq(logsumexp(tensor { -inf, -inf }), -inf)
  eq(gradof(logsumexp, { -inf, -inf }), { 0, 0 })
  eq(gradof(logsumexp, { -inf, 0 }), { 0, 1 })
  eq(logsumexp(tensor { inf, 0.0 }), inf)
  eq(logsumexp(zeros(0)), -inf)
  near(logsumexp(x, { 1, 2 }), 5.4203, 1e-4)
  shape(logsumexp(x, 1, { keep = true }), { 1, 3 })
end)

case("norms", "of several p", function()
  local v = tensor({ 3, -4, 0 }, "f64")
  eq(norm(v), 5)
  eq(norm(v, 1), 7)
  eq(norm(v, inf), 4)
  near(norm(v, 3), (27 + 64) ^ (1 / 3), 1e-14)
  eq(norm(zeros(3), 3), 0)
  eq(norm(v, 0), 2)
  eq(norm(v, -inf), 0)
  eq(norm(v, -2), 0)
  near(norm(v[{ { 1, 2 } }], -1), 12 / 7, 1e-14)
  eq(gradat(function(x) return norm(x, -2) end, { 3, 0, 4 }), { 0, 0, 0 })
  fails(function() return norm(v, nan) end, "norm: p cannot be nan")
  fails(function() return norm(v, "x") end, "norm: p must be a number")
end)

case("values", "nan_to_num, isclose, weights of layer_norm", function()
  eq(nan_to_num(tensor({ nan, inf, -inf, 1 }, "f64")),
    { 0, 0x1.fffffffffffffp1023, -0x1.fffffffffffffp1023, 1 })
  eq(nan_to_num(tensor({ nan, inf, -inf }, "f32"),
    { nan = 5, posinf = 6, neginf = 7 }), { 5, 6, 7 })
  eq(isclose(tensor({ 1, nan, inf, inf, 0 }, "f64"),
    tensor({ 1 + 1e-6, nan, inf, 1, 1e-9 }, "f64")),
    { true, false, true, false, true })
  eq(isclose(tensor({ nan, 1 }, "f64"), tensor({ nan, 2 }, "f64"),
    { equal_nan = true, atol = 1 }), { true, true })
  eq(isclose(tensor({ 1, 2 }, "i64"), tensor({ 1, 3 }, "i64")),
    { true, false })
  local w, b = tensor({ 1, 2, 3 }, "f32"), tensor({ 4, 5, 6 }, "f32")
  near(layer_norm(x, w, b), vals(layer_norm(x) * w + b), 1e-6)
  near(layer_norm(x, nil, nil, { eps = 1 })[{ 1, 1 }],
    (1 - 2 / 3) / math.sqrt(38 / 9 + 1), 1e-6)
end)

case("errors", "name the function and what it got", function()
  fails(function() clamp(5, 0, 1) end, "clamp.*number")
  fails(function() flip(x, 3) end, "axis 3 is outside 1%.%.2")
  fails(function() std(x, { axes = 1 }) end, "axes")
  fails(function() stack({}) end, "stack")
  fails(function() stack({ x, x[1] }) end, "tensor 2")
  fails(function() stack({ x, 5 }) end, "number")
  fails(function() stack({ x, nil, x }) end, "stack: element 2 .* got nil")
  fails(function() stack({ x, [3] = x }) end, "stack: the list has the key 3")
  for _, f in ipairs { "hypot", "logaddexp" } do
    fails(function() _G[f](1, 2) end, f .. ": argument 1 must be a tensor")
    fails(function() _G[f](x, {}) end, f .. ": argument 2 .* got a table")
    fails(function() _G[f]() end, f .. ": argument 1 .* got nil")
  end
  fails(function() isclose(x, "x") end, "isclose: argument 2 .* a string")
  fails(function() isclose(x) end, "isclose: argument 2 .* nil")
  fails(function() isclose(x, x, { atol = "x" }) end, "isclose: atol")
  fails(function() outer(x, 3) end, "outer: argument 2")
  fails(function() flip(x, { axis = "a" }) end, "flip: an axis")
  fails(function() flip(x, 1.5) end, "flip: an axis .* 1.5")
  fails(function() std(x, { axis = "a" }) end, "std: an axis")
  fails(function() logsumexp(x, { axis = { 1, -2 } }) end, "logsumexp: .*twice")
  fails(function() nan_to_num(x, { nan = "x" }) end, "nan_to_num: nan must")
  fails(function() clamp(x, "a") end, "clamp: argument 2")
  fails(function() mse(1, 2) end, "mse: two tensors")
  fails(function() grad(x) end, "got a tensor")
  fails(function() read(nil) end, "read: argument 1")
  fails(function() require "data".csv(nil) end, "read: argument 1")
  fails(function() read("a\0.csv") end, "zero byte")
end)

case("diff", "n is a whole number; past the extent nothing is left", function()
  shape(diff(arange(3), 1e9), { 0 })
  shape(diff(arange(3), { n = math.maxinteger }), { 0 })
  eq(diff(arange(3), 0), { 1, 2, 3 })
  for _, n in ipairs { -1, 0.5, "1", inf } do
    fails(function() return diff(arange(3), { n = n }) end, "diff: n must be")
  end
end)

case("numbers", "beside a tensor", function()
  eq(hypot(3, tensor { 4.0 }), { 5 })
  eq(hypot(tensor { 3 }, 4), { 5 })
  eq(isclose(tensor { 0.1, 2.0 }, 0.1), { true, false })
end)

done()
