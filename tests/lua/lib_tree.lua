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
