-- The text of errors: what, why, facts, the line with a caret, one hint.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")

-- The error of the code as a file; its name is F, the caret moved along.
local function text_of(code)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(code)
  f:close()
  local ok, e = pcall(assert(loadfile(path)))
  os.remove(path)
  check(not ok, "no error")
  local short = path
  local at = 1
  local out = {}
  while true do
    local i, j = e:find(short, at, true)
    if not i then break end
    out[#out + 1] = e:sub(at, i - 1)
    out[#out + 1] = "F"
    at = j + 1
  end
  out[#out + 1] = e:sub(at)
  -- the caret line is as many blanks shorter as the name is
  return (table.concat(out):gsub("\n( +)%^", function(blanks)
    return "\n" .. blanks:sub(1, #blanks - #short + 1) .. "^"
  end))
end

local function is(got, want)
  if got ~= want then
    error(("got\n%s\nwant\n%s"):format(got, want), 2)
  end
end

case("form", "place, facts, source, caret, hint", function()
  is(text_of [[
local a, b = zeros(2, 3), zeros(2, 3)

local y = matmul(a, b)
]], [=[
F:3: matmul: inner sizes differ: 3 and 2
  a: f32[2,3]   b: f32[2,3]
  F:3: local y = matmul(a, b)
                 ^
  hint: b.T is f32[3,2]]=])
end)

case("operator", "the caret stands below the sign", function()
  is(text_of "local x = zeros(2)\nlocal y = x * zeros(3)\n", [[
F:2: mul: shapes [2] and [3] do not broadcast: 2 and 3 along axis 1 from the end
  x: f32[2]   y: f32[3]
  F:2: local y = x * zeros(3)
                   ^]])
end)

case("indented", "without the blanks in front", function()
  is(text_of "do\n\tlocal x = zeros(2)\n\tx:sum(4)\nend\n", [[
F:3: sum: axis 4 is outside 1..1
  x: f32[2]   axis: 4
  F:3: x:sum(4)
         ^]])
end)

case("method", "unknown ones", function()
  is(text_of "zeros(2):relux()\n", [[
F:1: a tensor has no field or method 'relux'
  F:1: zeros(2):relux()
                ^
  hint: did you mean 'relu'?]])
end)

case("late", "an error in the data names the line that recorded it", function()
  local text = text_of [[
local x = zeros(3)
local at = tensor { 1, 9 }

local y = take(x, at) + 1
local z = y * 2
local v = z:table()
]]
  check(text:find("^F:4: "), text)
  check(text:find("9 is outside 1..3", 1, true), text)
  check(text:find("asked for at F:6", 1, true), text)
  check(text:find("  F:4: local y = take(x, at) + 1\n", 1, true), text)
end)

case("others", "values that do not depend on the bad one are good", function()
  local x = zeros(3)
  local bad, good = take(x, tensor { 9 }), x + 1
  eq(good, { 1, 1, 1 })
  fails(function() return bad:table() end, "outside 1..3")
  fails(function() return (bad + 1):table() end, "outside 1..3")
  eq(good * 2, { 2, 2, 2 })
end)

case("library", "the user's line, not the library's", function()
  local text = text_of "local x = zeros(2)\n\nlocal y = clamp(x, zeros(5), 1)\n"
  check(text:find("^F:3: "), text)
  check(text:find("  F:3: local y = clamp(x, zeros(5), 1)\n", 1, true), text)
  text = text_of "local x = zeros(2)\nlocal y = stack { x, zeros(3) }\n"
  check(text:find("^F:2: stack: tensor 1 is %[2%], tensor 2 is %[3%]"), text)
  check(text:find("\n                 ^", 1, true), text)
end)

case("through pcall", "the line of the caller", function()
  local text = text_of("local x = zeros(2)\n"
    .. "local ok, e = pcall(matmul, x, 1)\nerror(e, 0)\n")
  check(text:find("^F:2: matmul: argument 2 must be a tensor, got a number"),
    text)
end)

case("Lua's own", "keep Lua's form", function()
  is(text_of "local x = nil + 1\n",
    "F:1: attempt to perform arithmetic on a nil value")
  local ok, e = pcall(error, { code = 1 })
  check(not ok and e.code == 1)
end)

case("chunks", "given as strings show their line, too", function()
  local _, e = pcall(load("local x = zeros(2)\nreturn x:sum(7)"))
  check(e:find("axis 7 is outside 1..1", 1, true), e)
  check(e:find("return x:sum(7)\n", 1, true), e)
  -- many of them: their places are forgotten at last, nothing breaks
  for i = 1, 3000 do
    local ok = pcall(load(("return zeros(2):sum(%d)"):format(i + 1)))
    check(not ok)
  end
end)

case("tail calls", "and coroutines have lines", function()
  local text = text_of [[
local co = coroutine.create(function()
  local x = zeros(2)
  coroutine.yield()
  return x + zeros(3)
end)
coroutine.resume(co)
local ok, e = coroutine.resume(co)
error(e, 0)
]]
  check(text:find("^F:4: add: "), text)
end)

case("sizes", "too many elements are one clear error", function()
  fails(function() return zeros(4294967296, 4294967296):sum():item() end,
    "elements")
  fails(function() return (ones(1 << 45) + 1):item() end)
  fails(function() return zeros(1 << 44):table() end)
end)

case("memory", "an error that lists the largest tensors", function()
  big_one = zeros(1 << 20) + 1
  big_one[1]:item()
  local ok, e = pcall(function()
    local x = zeros(1 << 50) + 1
    return x[1]:item() + x:sum():item()
  end)
  if not ok then check(e:find("out of memory") or e:find("memory"), e) end
  eq(big_one[1], 1)
  big_one = nil
end)

done()
