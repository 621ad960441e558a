-- What progress walks over and hands on; what it draws is in
-- tests/shell/progress.sh.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

case("walk", "a number of steps, a list, an iterator, batches", function()
  local seen = {}
  for i in progress(3) do seen[#seen + 1] = i end
  eq(seen, { 1, 2, 3 })
  seen = {}
  for i, v in progress { "a", "b" } do seen[i] = v end
  eq(seen, { "a", "b" })
  local n = 0
  local function upto2() n = n + 1 if n <= 2 then return n, -n end end
  seen = {}
  for a, b in progress(upto2, { total = 2, unit = "rounds" }) do
    seen[#seen + 1] = a * 10 + b
  end
  eq(seen, { 9, 18 })
  local x, rows = zeros(7, 2), {}
  for xb, yb in progress(data.batches(x, arange(7), 3), "x") do
    rows[#rows + 1] = #xb + #yb
  end
  eq(rows, { 6, 6, 2 })
end)

case("walk", "nothing to walk over", function()
  for _ in progress(0) do check(false) end
  for _ in progress {} do check(false) end
end)

case("bar", "keeps what is assigned, a tensor that failed included", function()
  local bar = progress(2, "bar")
  for i in bar do
    bar.loss = tensor(0.5)
    bar.best = i
  end
  check(bar.best == 2)
  bar = progress(1)
  for _ in bar do bar.loss = take(tensor { 1.0 }, tensor { 5 }) end
end)

case("bar", "break and errors go through", function()
  for i in progress(5) do if i == 2 then break end end
  fails(function()
    for _ in progress(5) do error("mine") end
  end)
end)

case("errors", "what it cannot walk over, unknown options", function()
  fails(function() progress("x") end)
  fails(function() progress(tensor { 1 }) end)
  fails(function() progress(3, { lable = "x" }) end)
  fails(function() progress(3, 4) end)
end)

done()
