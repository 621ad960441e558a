-- Walks over nested tables of tensors.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

local function paths(t)
  local p = {}
  tree.each(t, function(_, path) p[#p + 1] = path end)
  return table.concat(p, " ")
end

local one = tensor({ 1 }, "f32")

case("order", "integers, then strings by bytes, at every level", function()
  local t = { z = one, a = one, [10] = one, [2] = one, [-1] = one, B = one,
    ab = { one, x = one }, ["a b"] = one, ["é"] = one }
  eq({ paths(t) == '[-1] [2] [10] B a ["a b"] ab[1] ab.x z ["é"]' }, { true })
  check(paths(one) == "")
  check(paths({ layers = { { w = one, b = one } } })
    == "layers[1].b layers[1].w")
end)

case("leaves", "tensors only; numbers, texts and functions are none", function()
  local t = { one, 5, "x", print, { 7, { one } }, true }
  eq({ #tree.leaves(t) }, { 2 })
  eq({ #tree.leaves(5), #tree.leaves({}), #tree.leaves(one) }, { 0, 0, 1 })
end)

case("count", "elements of all tensors", function()
  eq(tree.count({ w = zeros(784, 64), b = zeros(64), { zeros(64, 10) },
    c = zeros(10) }), 50890)
  eq(tree.count({ zeros(0, 3), tensor(1.0) }), 1)
  eq(tree.count({}), 0)
end)

case("map", "over several trees; a missing entry leaves the first", function()
  local p = { w = tensor { 1.0, 2.0 }, n = tensor { 1, 2 }, { tensor { 3.0 } },
    name = "p" }
  local g = { w = tensor { 0.5, 0.5 }, { tensor { 1.0 } } }
  local q = tree.map(function(a, b) return a - b end, p, g)
  eq(q.w, { 0.5, 1.5 })
  eq(q[1][1], { 2 })
  eq(q.n, { 1, 2 })
  check(q.name == "p" and q ~= p)
  eq(p.w, { 1, 2 })
  eq(tree.map(function(a) return a * 2 end, one), { 2 })
  local none = tree.map(function(a, b) return a - b end, p, {})
  eq(none.w, { 1, 2 })
end)

case("flatten", "and back, with gaps", function()
  local t = { b = tensor { 2 }, a = { tensor { 1 }, "x" } }
  local leaves, restore = tree.flatten(t)
  eq({ #leaves }, { 2 })
  eq(leaves[1], { 1 })
  local u = restore { false, tensor { 9 } }
  check(u.a[1] == nil and u.a[2] == "x")
  check(restore({ false, false }, true).a[2] == nil)
  eq(u.b, { 9 })
  local _, back = tree.flatten(one)
  eq(back { tensor { 4 } }, { 4 })
end)

case("keys", "that a metamethod takes out during a walk", function()
  for _, n in ipairs { 5, 50 } do
    local t, other, met = {}, {}, 0
    for i = 1, n do t[("k"):rep(5000) .. i] = one end
    t[1], t[2] = one, one
    setmetatable(other, { __index = function()
      met = met + 1
      for k in pairs(t) do t[k] = nil end -- order-free
      collectgarbage()
    end })
    local seen = tree.map(function(x) return x * 2 end, t, other)
    check(met == n + 2 and next(seen) == nil)
  end
end)

case("keys", "of a table that a finalizer fills during a walk", function()
  local t = {}
  local function fill()
    for i = 1, 200 do t[i .. ("k"):rep(300)] = one end
  end
  for i = 1, 2000 do
    if i % 100 == 0 then
      t = {}
      for k = 1, 40 do t["key" .. k] = one end
    end
    setmetatable({}, { __gc = fill })
    check(#tree.leaves(t) >= 40 or i < 100)
  end
end)

case("deep", "a hundred tables and more", function()
  local p = one
  for _ = 1, 150 do p = { p } end
  local q = tree.map(function(x) return x + 1 end, p)
  for _ = 1, 150 do q = q[1] end
  eq(q, one + 1)
end)

case("errors", "keys without order, and tables within themselves", function()
  fails(function() tree.count({ [1.5] = one }) end, "float")
  fails(function() tree.count({ a = { [true] = one } }) end, "a has a key")
  local loop = { x = { one } }
  loop.x.again = loop
  fails(function() tree.leaves(loop) end, "contains itself at x.again")
  local twice = { one }
  eq({ #tree.leaves({ twice, twice }) }, { 2 })
end)

done()
