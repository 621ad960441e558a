-- Sorting and ranges: faults that users of other systems met.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("B077", "median keeps nan along every axis", function()
  for _, t in ipairs { { 1, nan, 0 }, { nan, 1, 0 }, { -5, nan, 3 },
    { 1, 0, nan } } do
    eq(median(tensor(t, "f32")), nan)
  end
  local x = tensor({ { 1, nan, 3 }, { 4, 5, 6 }, { 0, 1, 9 } }, "f32")
  eq((median(x, { axis = 1 })), { 1, nan, 6 })
  eq((median(x, { axis = 2 })), { nan, 5, 1 })
  eq(median(tensor({ 3, 1, 2 }, "f32")), 2)
end)

case("B079", "topk among inf and nan agrees with sort", function()
  local x = tensor({ nan, inf, 3, 1, -inf }, "f32")
  eq((topk(x, 2)), { nan, inf })
  eq((topk(x, 2, { largest = false })), { -inf, 1 })
  local _, i = topk(tensor({ 5, 9, 1, 9.5 }, "f32"), 2)
  eq(i, { 4, 2 })
  eq((topk(tensor({ 2, 2, 2 }, "i32"), 3)), { 2, 2, 2 })
  shape((topk(x, 0)), { 0 })
  fails(function() return vals((topk(x, 6))) end, "topk: k is 6")
end)

case("B081", "sorting equal keys: no crash, stable", function()
  local i = vals(argsort(zeros({ 100 })))
  for k = 1, 100 do check(i[k] == k, "argsort of equals moved " .. k) end
  local t = {}
  for k = 1, 2000 do t[k] = k % 3 end
  local j = vals(argsort(tensor(t, "f32")))
  for k = 2, 2000 do
    local a, b = j[k - 1], j[k]
    check(t[a] < t[b] or (t[a] == t[b] and a < b), "not stable at " .. k)
  end
  eq(argsort(full({ 50 }, nan, { dtype = "f32" }))[{ { 1, 3 } }], { 1, 2, 3 })
  eq(argsort(tensor({ 3, 1, 2 }, "i32")), { 2, 3, 1 })
  shape(argsort(zeros({ 0 })), { 0 })
end)

case("B083", "linspace and arange end where they should", function()
  local l = vals(linspace(0, 1, 50))
  check(#l == 50 and l[1] == 0 and l[50] == 1, "ends at " .. tostring(l[50]))
  local x = linspace(0.1, 0.7, 7)
  local v, f = vals(x), vals(tensor({ 0.1, 0.7 }, x.dtype))
  check(v[1] == f[1] and v[7] == f[2], "ends " .. v[1] .. " " .. v[7])
  eq(linspace(3, 9, 1), { 3 })
  shape(linspace(3, 9, 0), { 0 })
  eq(linspace(5, 5, 3), { 5, 5, 5 })
  eq(arange(1, 5), { 1, 2, 3, 4, 5 })
  eq(arange(5, 1, -2), { 5, 3, 1 })
  shape(arange(1, 0), { 0 })
  local big = vals(arange(9007199254740992, 9007199254740995))
  check(math.type(big[2]) == "integer" and big[2] == 9007199254740993)
  eq(#vals(arange(0, 1, 0.1)), 11)
end)

done()
