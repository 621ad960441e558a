-- grad as a function: nesting, closures, trees of parameters, errors, values
-- read on the way, what it costs.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function t64(v) return tensor(v, "f64") end

case("nested", "third and fourth order", function()
  local d = { [0] = function(x) return exp(3 * x) end }
  local x, e = t64 { 0.5, -1 }, { math.exp(1.5), math.exp(-3) }
  for k = 1, 4 do
    local f = d[k - 1]
    d[k] = grad(function(z) return sum(f(z)) end)
    rel(d[k](x), { 3 ^ k * e[1], 3 ^ k * e[2] }, 1e-12)
  end
  rel(d[1](x), { 3 * e[1], 3 * e[2] }, 1e-12)
end)

case("nested", "tanh and powers to the third order", function()
  local function nth(f, n)
    for _ = 1, n do
      local inner = f
      f = grad(function(x) return sum(inner(x)) end)
    end
    return f
  end
  local x = 0.3
  local t = (math.exp(x) - math.exp(-x)) / (math.exp(x) + math.exp(-x))
  local s = 1 - t * t
  rel(nth(tanh, 2)(t64 { x }), { -2 * t * s }, 1e-12)
  rel(nth(tanh, 3)(t64 { x }), { s * (6 * t * t - 2) }, 1e-12)
  rel(nth(function(z) return z ^ 4 end, 3)(t64 { 2 }), { 48 }, 1e-12)
  rel(nth(function(z) return z ^ 2.5 end, 3)(t64 { 2 }),
    { 2.5 * 1.5 * 0.5 * 2 ^ -0.5 }, 1e-12)
  rel(nth(function(z) return z:matmul(z) end, 2)(t64 { 1, 2 }), { 2, 2 }, 1e-12)
  rel(nth(function(z) return sum(z:reshape(2, 2):matmul(z:reshape(2, 2)))
    end, 2)(t64 { 1, 2, 3, 4 }), { 4, 4, 4, 4 }, 1e-12)
end)

case("nested", "a variable that the inner function also uses", function()
  -- d/dx x * (d/dy (x + y^3) at y = x) = d/dx 3 x^3
  local g = grad(function(x)
    return sum(grad(function(y) return sum(x + y ^ 3) end)(x) * x)
  end)
  rel(g(t64 { 2 }), { 36 }, 1e-12)
  -- d/dx of (d/dy x y at y = 1) is 1, not 2: y is no part of x.
  local h = grad(function(x)
    return sum(x * grad(function(y) return sum(x * y) end)(t64 { 1 }))
  end)
  rel(h(t64 { 5 }), { 10 }, 1e-12)
  local k = grad(function(x)
    return grad(function(y) return sum(x * y * y) end)(x)[1]
  end)
  rel(k(t64 { 3, 4 }), { 12, 0 }, 1e-12)
end)

case("nested", "what the function closes over is constant", function()
  local w = t64 { 1, 2 }
  eq(grad(function(x) return sum(x * w) end)(w), { 1, 2 })
  eq(grad(function() return sum(w * w) end)(w), { 0, 0 })
  eq(grad(function(x) return sum(x) end)(w), { 1, 1 })
  eq(grad(function(x) return x end)(t64(3)), 1)
  eq(grad(function(x) return sum(x * detach(x)) end)(w), { 1, 2 })
end)

case("trees", "the gradient has the structure of the argument", function()
  local p = { 3, w = t64 { { 1, 2 }, { 3, 4 } }, b = { t64 { 5, 6 },
    name = "bias", n = tensor({ 1, 2 }, "i64") }, step = tensor(7, "i64") }
  local v, g, extra, more = value_and_grad(function(q)
    return sum(q.w * 2) + sum(q.b[1] * q.b[1] * q.b.n), "extra", nil
  end)(p)
  eq(v, 20 + 25 + 72)
  eq(extra, "extra")
  check(more == nil)
  eq(g.w, { { 2, 2 }, { 2, 2 } })
  eq(g.b[1], { 10, 24 })
  check(g.b.n == nil and g.step == nil and g[1] == nil and g.b.name == nil)
  local twice = t64 { 1, 2 }
  local cube = function(q) return sum(q[1] * q[1] * q[2]) end
  local s = grad(cube) { twice, twice }
  eq(s[1], { 2, 8 })
  eq(s[2], { 1, 4 })
end)

case("arguments", "the chosen one; all others are passed on", function()
  local f = function(a, b, c) return sum(a * b ^ 2) + c end
  eq(grad(f, 2)(t64 { 1, 2 }, t64 { 3, 4 }, 5), { 6, 16 })
  eq(grad(f)(t64 { 1, 2 }, t64 { 3, 4 }, 5), { 9, 16 })
end)

case("dtypes", "gradients have the dtype of their leaf", function()
  local g = grad(function(p) return sum(p[1] * p[2]) end) {
    tensor({ 1, 2 }, "f32"), tensor({ 3, 4 }, "f64") }
  dtype(g[1], "f32")
  dtype(g[2], "f64")
  eq(g[1], { 3, 4 })
  eq(g[2], { 1, 2 })
  local i = tensor({ 2, 3 }, "i64")
  eq(grad(function(x) return sum(x * i) end)(tensor({ 1, 1 }, "f32")), { 2, 3 })
end)

case("errors", "no single float, no float leaf, no function", function()
  local x = t64 { 1, 2 }
  fails(function() grad(function(y) return y * 2 end)(x) end,
    "one float number.*f64%[2%]")
  fails(function() grad(function(y) return argmax(y) end)(x) end, "i64%[%]")
  fails(function() grad(function() return 5 end)(x) end, "number")
  fails(function() grad(function() end)(x) end, "nil")
  fails(function() grad(sum)(tensor({ 1, 2 }, "i64")) end,
    "argument 1 is i64%[2%]")
  fails(function() grad(sum, 2)(x) end, "argument 2 is nil")
  fails(function() grad(sum) { n = tensor({ 1 }, "i64") } end,
    "without float tensors, n is i64%[1%]")
  fails(function() grad(sum) { "x" } end, "a table without tensors")
  fails(function() grad(sum) { a = 1.0 } end,
    "a is a number: write tensor%(1%.0%)")
  fails(function() grad(sum)(2) end, "is a number;.*write tensor%(2%.0%)")
  fails(function() grad(3) end, "function")
  fails(function() grad(sum, 0) end, "argument 2")
  fails(function() grad(function() error("mine", 0) end)(x) end, "mine")
  eq(grad(sum)(x), { 1, 1 })
  fails(function()
    gradcheck(function(y) return sum(y * detach(y)) end, x)
  end, "element 1")
end)

case("reading", "a value inside changes nothing", function()
  local seen = {}
  local f = function(t)
    local s = sum(t * t)
    seen[#seen + 1] = s:item()
    if seen[#seen] > 1 then s = s * 2 end
    local u = tanh(t)
    seen.text = tostring(u)
    return s + sum(u * u * t)
  end
  local g = grad(f)(t64 { 3 })
  local u = (math.exp(6) - 1) / (math.exp(6) + 1)
  rel(g, { 12 + u * u + 6 * u * (1 - u * u) }, 1e-12)
  eq(seen[1], 9)
  local h = grad(function(t)
    return sum(grad(function(y)
      local z = sum(y * y * y)
      check(z:item() > 0)
      return z
    end)(t))
  end)(t64 { 2 })
  eq(h, { 12 })
end)

case("coroutines", "a function that yields", function()
  local co = coroutine.wrap(function()
    return grad(function(x)
      local y = x * x
      coroutine.yield("half")
      return sum(y * x)
    end)(t64 { 2 })
  end)
  eq(co(), "half")
  eq(grad(sum)(t64 { 1 }), { 1 })
  eq(co(), { 12 })
end)

case("devices", "gradients go back to where their leaf is", function()
  if not pcall(function() return zeros(1):to("example") end) then return end
  local w = tensor({ { 1, 2 }, { 3, 4 } }, "f32"):to("example")
  local x = tensor({ { 1 }, { 2 } }, "f32")
  local g = grad(function(p) return sum(p.w:matmul(p.x) ^ 2) end) { w = w,
    x = x }
  check(g.w.device:find("example") and g.x.device:find("cpu"))
  eq(g.w, { { 10, 20 }, { 22, 44 } })
  eq(g.x, { { 76 }, { 108 } })
  local h = grad(function(t) return sum((t:to("example") * t):to("cpu") * t)
    end)(x)
  check(h.device:find("cpu"))
  eq(h, { { 3 }, { 12 } })
end)

case("depth", "thousands of ops", function()
  local g = gradof(function(t)
    local u = t
    for _ = 1, 5000 do u = u * 1.0001 end
    return sum(u)
  end, { 1 })
  rel(g, { 1.0001 ^ 5000 }, 1e-9)
end)

case("cost", "a matmul's gradients are matmuls, nothing of size m n k",
  function()
  local n = 200
  local a = tensor({ 1.0 }, "f32"):broadcast_to { n, n } * 1
  local function bytes_of(f)
    local before = tsh.counters().bytes_allocated
    f()
    return tsh.counters().bytes_allocated - before
  end
  local first = grad(function(p) return sum(p[1]:matmul(p[2]) ^ 2) end)
  local bytes = bytes_of(function()
    local g = first { a, a }
    eq(g[1][{ 1, 1 }], 2 * n * n)
    eq(g[2][{ n, n }], 2 * n * n)
  end)
  check(bytes < 40 * n * n * 4, "first order: " .. bytes)
  bytes = bytes_of(function()
    local h = grad(function(p) return sum(first(p)[1] ^ 2) end) { a, a }
    h[1]:sum():item()
    h[2]:sum():item()
  end)
  check(bytes < 80 * n * n * 4, "second order: " .. bytes)
end)

case("numbers", "a gradient that is one number depends on what made it", function()
  local inner = grad(function(y) return mean(y * 3) end)
  eq(inner(ones(4)), { 0.75, 0.75, 0.75, 0.75 })
  -- arguments that were filled themselves
  eq(grad(function(x)
    return sum(grad(function(y) return mean(y * x) end)(ones(4)))
  end)(full({ 4 }, 2.0)), { 0.25, 0.25, 0.25, 0.25 })
  eq(grad(function(x)
    return sum(grad(function(y) return -sum(y * x) / 4 end)(full({ 4 }, 3.0)))
  end)(full({ 4 }, 2.0)), { -0.25, -0.25, -0.25, -0.25 })
  -- what a rule of one's own gives may be the argument
  local kept = custom_grad(function(y) return sum(y) end,
    function(_, y) return y end)
  eq(grad(function(x) return sum(grad(kept)(x) * 2) end)(full({ 2 }, 5.0)),
    { 2, 2 })
  -- rounded as the op would have
  local c = tensor({ 0.1 }) / 3
  eq(grad(function(y) return sum(y * 0.1 / 3) end)(ones(1)), c)
end)

done()
