-- nn.describe: rows, totals, layout, and what does not fit.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function quiet(spec, shape_, o)
  o = o or {}
  o.quiet = true
  return nn.describe(spec, shape_, o)
end

local mlp = nn.sequence { nn.flatten, nn.linear(784, 128), nn.relu,
  nn.sequence { nn.dropout(0.5), nn.linear(128, 10) } }

case("rows", "layers with shapes, parameters and bytes", function()
  local d = quiet(mlp, { 100, 28, 28 })
  eq(#d, 5)
  eq(d[2].parameters, 100480)
  eq(d[2].bytes, 401920)
  eq(d[2].shape, { 100, 128 })
  check(d[2].layer == "linear(784, 128)" and d[2].output == "[100,128]")
  check(d[5].path == "4.2" and d[4].layer == "dropout(0.5)")
  eq(d.parameters, 101770)
  eq(d.bytes, 4 * 101770)
end)

case("batch", "is added where the layers need one", function()
  local flat = nn.sequence { nn.batch_norm(6), nn.linear(6, 2) }
  local d = quiet(flat, { 6 })
  check(d[2].output == "[n,2]", d[2].output)
  eq(d[2].shape, { 2 })
  eq(d[1].bytes, 4 * (12 + 12))
  eq(d[1].parameters, 12)
  eq(d.bytes, 4 * (24 + 14))
  check(quiet(flat, { 5, 6 })[2].output == "[5,2]")
end)

case("residual", "is a row, its layers are inside", function()
  local d = quiet(nn.sequence { nn.residual { nn.linear(4, 4), nn.relu } },
    { 3, 4 })
  eq(#d, 3)
  check(d[1].layer == "residual" and d[2].path == "1.1")
  eq(d.parameters, 20)
end)

case("kinds", "embedding takes integers; a single layer; functions", function()
  eq(quiet(nn.sequence { nn.embedding(10, 4), nn.linear(4, 2) }, { 7 })[2].shape,
    { 7, 2 })
  eq(quiet(nn.linear(3, 4), { 3 })[1].shape, { 4 })
  eq(quiet(function(x) return x:sum(1) end, { 2, 3 })[1].shape, { 3 })
end)

case("text", "columns are aligned", function()
  local text = quiet(mlp, { 28, 28 }).text
  local width
  for line in text:gmatch("[^\n]+") do
    width = width or #line
    eq(#line, width)
  end
end)

case("nothing", "is computed", function()
  local before = tsh.counters().kernels
  quiet(mlp, { 100, 28, 28 })
  quiet(nn.sequence { nn.linear(100000, 100000), nn.linear(100000, 100000) },
    { 100000 })
  eq(tsh.counters().kernels, before)
end)

case("errors", "the layer that does not fit is named", function()
  fails(function() quiet(mlp, { 100, 30, 28 }) end,
    "nn.describe: layer 2, linear%(784, 128%).*%[100,840%]")
  local conv = nn.conv2d(1, 4, 3)
  fails(function()
    quiet(nn.sequence { conv, nn.relu, nn.linear(16, 10) }, { 1, 8, 8 })
  end, "layer 3, linear%(16, 10%): the last axis of x must have 16 elements; "
    .. "x is %[n,4,6,6%].*hint: nn.flatten")
  fails(function()
    quiet(nn.sequence { conv, nn.flatten(), nn.linear(16, 10) }, { 1, 8, 8 })
  end, "layer 3, linear%(16, 10%).*%[n,144%].*hint: nn.linear%(144, 10%)")
  fails(function() quiet(nn.sequence { conv, conv }, { 1, 8, 8 }) end,
    "layer 2, conv2d%(1, 4, 3x3%): x must be %[n, 1, height, width%], got "
    .. "%[n,4,6,6%]")
  fails(function()
    quiet(nn.sequence { nn.relu, nn.sequence { nn.linear(9, 2) } }, { 8 })
  end, "layer 2.1, linear%(9, 2%).*x is %[8%]")
  fails(function()
    quiet(nn.sequence { function(x) return x:reshape(3, 3) end }, { 8 })
  end, "layer 1, fn of x %[8%]: reshape: %[8%] has 8 elements")
  fails(function() quiet(mlp, "784") end, "shape")
  fails(function() quiet(5, { 3 }) end, "spec")
end)

done()
