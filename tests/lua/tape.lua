-- A tape that its function never came back to is closed all the same: else the
-- trace would never be cut again.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
local core = require "tsh.core"

local function is_cut()
  local x, before = randn(4), tsh.counters().flushes
  for _ = 1, 3000 do x = x * 2 - x end
  return tsh.counters().flushes > before and not core.watching()
end

case("tape", "an error in a coroutine", function()
  local co = coroutine.create(function()
    grad(function() error("mine") end)(ones(3))
  end)
  local ok, e = coroutine.resume(co)
  check(not ok and e:find("mine"))
  check(is_cut())
  check(coroutine.status(co) == "dead")
end)

case("tape", "an error in a wrapped coroutine", function()
  local f = coroutine.wrap(function()
    grad(function() error("mine") end)(ones(3))
  end)
  fails(f)
  check(is_cut())
end)

case("tape", "a coroutine that nobody resumes", function()
  local function leave()
    local f = coroutine.wrap(function()
      grad(function(x) coroutine.yield() return sum(x) end)(ones(3))
    end)
    f()
    check(core.watching())
  end
  leave()
  collectgarbage()
  collectgarbage()
  check(is_cut())
end)

case("tape", "a coroutine that goes on in the middle of a gradient", function()
  local f = coroutine.wrap(function()
    local g = grad(function(x) coroutine.yield() return sum(x * x) end)(
      tensor { 1.0, 2.0 })
    return g
  end)
  f()
  eq(grad(function(x) return sum(x * 3) end)(ones(2)), { 3, 3 })
  eq(f(), { 2, 4 })
  check(is_cut())
end)

case("tape", "functions of custom_grad are kept as long as a tape is open",
  function()
  local twice = custom_grad(function(x) return x * 2 end,
    function(g) return g * 10 end)
  eq(grad(function(x)
    local inner = grad(function(y) return sum(twice(y)) end)(x)
    return sum(twice(x) + inner)
  end)(ones(2)), { 10, 10 })
  check(next(core.customs()) == nil)
end)

case("walk", "nothing is given before a record was visited", function()
  local tape <close> = core.tape_open()
  local x = core.alias(ones(2))
  local y = x * 2
  local walk = core.walk_new(tape, { x })
  fails(function() core.walk_give(walk, {}, 1, x) end, "no record was visited")
  fails(function() core.walk_give(walk, nil, 1, x) end, "table expected")
  local grads = { [core.id(y)] = ones(2) }
  check(core.walk_back(walk, grads)[1].shape == x.shape)
  check(core.walk_give(walk, grads, 1, ones(2)) == nil)
  eq(grads[core.id(x)], { 1, 1 })
end)

done()
