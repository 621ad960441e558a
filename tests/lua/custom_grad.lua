-- custom_grad: what backward is given, what it may give, what is refused, and
-- that nothing of it is left when the tape is closed.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function t(v) return tensor(v, "f32") end

case("value", "without a tape f runs as it is", function()
  local seen
  local f = custom_grad(function(...)
    seen = { ... }
    return seen[1] * 2
  end, function() error("not called") end)
  local x = t { 1, 2 }
  eq(f(x, "word", nil, 4), { 2, 4 })
  check(rawequal(seen[1], x) and seen[2] == "word" and seen[4] == 4)
end)

case("gradient", "is what backward says, from g, arguments and result",
  function()
  local f = custom_grad(function(x, k, y) return x * k + y end,
    function(g, x, k, y, out)
      check(k == 3)
      eq(out, (x * 3 + y):table())
      return g * 10, nil, g * x
    end)
  local d = grad(function(p) return sum(f(p[1], 3, p[2]) * t { 1, 5 }) end)
    { t { 2, 4 }, t { 0, 1 } }
  eq(d[1], { 10, 50 })
  eq(d[2], { 2, 20 })
end)

case("once", "backward runs once, and only where a gradient passes", function()
  local runs = 0
  local f = custom_grad(function(x, y) return x + y end, function(g)
    runs = runs + 1
    return g, g
  end)
  grad(function(p) return sum(f(p[1], p[2])) end) { t { 1 }, t { 2 } }
  check(runs == 1, runs)
  grad(function(p) f(p, p) return sum(p) end)(t { 1 })
  check(runs == 1, "the result was dropped")
  local c = t { 5 }
  grad(function(p) return sum(p + f(c, c)) end)(t { 1 })
  check(runs == 1, "of constants")
end)

case("function", "a gradient may be a function, for the asked alone", function()
  local asked = {}
  local f = custom_grad(function(x, y) return x * y end, function(g, x, y)
    return function() asked[#asked + 1] = "x" return g * y end,
      function() asked[#asked + 1] = "y" return g * x end
  end)
  local y = t { 7, 8 }
  eq(grad(function(x) return sum(f(x, y)) end)(t { 1, 2 }), { 7, 8 })
  check(table.concat(asked) == "x", table.concat(asked))
end)

case("constant", "what f sees beside its arguments is constant", function()
  local d = grad(function(p)
    return sum(custom_grad(function(x) return x * p end,
      function(g) return g end)(p))
  end)(t { 3, 4 })
  eq(d, { 1, 1 })
end)

case("tables", "arguments may be nested tables, gradients as well", function()
  local f = custom_grad(function(p) return p.a * p.list[1] end,
    function(g, p) return { a = g * p.list[1], list = { g * p.a * 2 } } end)
  local d = grad(function(p) return sum(f(p)) end)
    { a = t { 2 }, list = { t { 5 } } }
  eq(d.a, { 5 })
  eq(d.list[1], { 4 })
  local half = custom_grad(function(p) return p.a * p.b end,
    function(g, p) return { b = g * p.a } end)
  d = grad(function(p) return sum(half(p)) end) { a = t { 2 }, b = t { 3 } }
  eq(d.a, { 0 })
  eq(d.b, { 2 })
end)

case("second", "a second derivative goes through the ops of backward",
  function()
  -- x^3 with a gradient of its own: 5 x^2, so the second is 10 x
  local f = custom_grad(function(x) return x * x * x end,
    function(g, x) return g * x * x * 5 end)
  local first = grad(function(x) return sum(f(x)) end)
  eq(first(t { 2, 3 }), { 20, 45 })
  eq(grad(function(x) return sum(first(x)) end)(t { 2, 3 }), { 20, 30 })
  -- the result's own gradient: backward uses it
  local e = custom_grad(exp, function(g, _, y) return g * y end)
  local e1 = grad(function(x) return sum(e(x)) end)
  local e2 = grad(function(x) return sum(e1(x)) end)
  local e3 = grad(function(x) return sum(e2(x)) end)
  near(e3(t { 0.5 }), { math.exp(0.5) }, 1e-6)
end)

case("nested", "custom functions stand in custom functions", function()
  local inner = custom_grad(square, function(g, x) return g * x * 2 end)
  local outer = custom_grad(function(x) return inner(x) + 1 end,
    function(g, x) return grad(function(z) return sum(inner(z) * g) end)(x) * 10
  end)
  eq(grad(function(x) return sum(outer(x)) end)(t { 3 }), { 60 })
end)

case("flush", "reading values on the way changes nothing", function()
  local f = custom_grad(function(x)
    local y = x * x
    y:sum():item()
    return y
  end, function(g, x, y)
    check(math.abs(y:sum():item() - 13) < 1e-6)
    return g * x * 2
  end)
  eq(grad(function(x)
    local y = f(x)
    y:max():item()
    return sum(y)
  end)(t { 2, 3 }), { 4, 6 })
end)

case("ready", "a result that is an argument, or a constant, has a gradient too",
  function()
  local f = custom_grad(function(x) return x end, function(g) return -g end)
  eq(grad(function(x) return sum(f(x)) end)(t { 1, 2 }), { -1, -1 })
  local c = t { 5, 6 }
  c:sum():item()
  local k = custom_grad(function() return c end, function(g) return g * 3 end)
  eq(grad(function(x) return sum(k(x)) end)(t { 1, 2 }), { 3, 3 })
end)

case("other results", "that are no floats have no gradient", function()
  local f = custom_grad(function(x) return x:gt(1) end,
    function() error("not called") end)
  eq(grad(function(x) return sum(where(f(x), x, 0)) end)(t { 1, 2 }), { 0, 1 })
end)

case("refused", "results and gradients that do not fit", function()
  local function try(back, x)
    local f = custom_grad(function(a, b) return sum(a) + sum(b) end, back)
    return grad(function(v) return f(t { 1 }, v) end)(x or t { 1, 2, 3 })
  end
  fails(function() return try(function(g) return nil, g end) end,
    "gradient of argument 2 must be a tensor of its shape %[3%], got %[%]")
  fails(function() return try(function() return nil, 5 end) end,
    "argument 2 must be a tensor of its shape %[3%], got a number")
  fails(function()
    local f = custom_grad(function(p) return sum(p.w[1]) end,
      function(g) return { w = { g } } end)
    return grad(function(w) return f { w = { w } } end)(t { 1, 2 })
  end, "gradient of argument 1 at w%[1%] must be .*%[2%], got %[%]")
  fails(function() return custom_grad(function() return 1 end, print)() end,
    "must return one tensor, got a number")
  fails(function()
    return custom_grad(function(x) return x, x end, print)(t { 1 })
  end, "must return one tensor, got 2 results")
  fails(function() return custom_grad(3, print) end, "argument 1 must be a f")
  fails(function() return custom_grad(print) end, "argument 2 must be a f")
end)

case("memory", "closures and inputs are let go when the tape closes", function()
  local alive = setmetatable({}, { __mode = "k" })
  local before
  for i = 1, 3 do
    do
      local f = custom_grad(square, function(g, x) return g * x * 2 end)
      local held = {}
      alive[held] = true
      local back = custom_grad(function(x) return x * 1 end, function(g)
        return g * #held + g
      end)
      local x = ones(50000) * i
      grad(function(v) return sum(back(f(v))) end)(x):sum():item()
    end
    collectgarbage()
    collectgarbage()
    local live = tsh.counters().bytes_live
    check(next(alive) == nil, "a closure is alive")
    check(not before or live <= before, live)
    before = before or live
  end
end)

case("errors", "an error in f or backward leaves no tape behind", function()
  local f = custom_grad(square, function() error("my own") end)
  fails(function() return grad(function(x) return sum(f(x)) end)(t { 1 }) end,
    "my own")
  local g = custom_grad(function() error("in f") end, print)
  fails(function() return grad(function(x) return sum(g(x)) end)(t { 1 }) end,
    "in f")
  local seen
  custom_grad(function(x) seen = x return x end, print)(t { 1 })
  eq(grad(function(x) return sum(x * 2) end)(t { 1 }), { 2 })
end)

case("memory", "what the gradients of a step held is free in the next", function()
  local square = custom_grad(function(x) return x * x end,
    function(g, x) return g * x * 2 end)
  local step = value_and_grad(function(x) return square(x):sum() end)
  local x, live = rand(100000), {}
  for i = 1, 40 do
    local loss, g = step(x)
    check(loss:item() > 0)
    tsh.wait(g)
    live[i] = tsh.counters().bytes_live
  end
  check(live[40] <= live[10], ("%d bytes, then %d"):format(live[10], live[40]))
end)

case("dtypes", "a gradient of another dtype becomes that of its input", function()
  local f = custom_grad(function(x) return x * 2 end,
    function(g) return g:cast("f16") * 0.125 end)
  local g = grad(function(x) return sum(f(x) * x) + sum(f(x)) end)(
    tensor { 1.0, 2.0 })
  dtype(g, "f32")
  eq(g, { 2 + 0.125 + 0.125, 4 + 0.25 + 0.125 })
  local i = custom_grad(function(x) return x * 2 end,
    function() return tensor { 3, 4 } end)
  g = grad(function(x) return sum(i(x)) end)(tensor { 1.0, 2.0 })
  dtype(g, "f32")
  eq(g, { 3, 4 })
end)

done()
