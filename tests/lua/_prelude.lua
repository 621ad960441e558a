-- What the Lua tests share. A test file begins with
--   dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
-- and ends with done(). TEST_CASE in the environment runs one case only.

nan, inf = 0 / 0, math.huge
here = arg[0]:match("^.*/") or ""

-- ---- values back from tensors ----------------------------------------------

local function is_tensor(x)
  return type(x) == "userdata"
    or (type(x) == "table" and getmetatable(x) ~= nil)
end

--- vals(x): a tensor as number, boolean or nested table.
function vals(x)
  if not is_tensor(x) then return x end
  if type(x) == "userdata" and #x.shape == 0 then return x:item() end
  return x:table()
end

local function number(v)
  if v == true then return 1 elseif v == false then return 0 end
  return v
end

local function show(v)
  if type(v) ~= "table" then return tostring(v) end
  local o = {}
  for i = 1, math.min(#v, 12) do o[i] = show(v[i]) end
  if #v > 12 then o[13] = "... " .. #v .. " in all" end
  return "{" .. table.concat(o, ", ") .. "}"
end

-- The first path where they differ, or nil.
local function walk(a, b, ok, path)
  if type(a) == "table" or type(b) == "table" then
    if type(a) ~= type(b) then return path .. " (rank)" end
    if #a ~= #b then
      return ("%s (length %d, want %d)"):format(path, #a, #b)
    end
    for i = 1, #a do
      local p = walk(a[i], b[i], ok, path .. "[" .. i .. "]")
      if p then return p end
    end
    return nil
  end
  a, b = number(a), number(b)
  if type(a) ~= "number" or type(b) ~= "number" then
    return a ~= b and path or nil
  end
  if a ~= a or b ~= b then return not (a ~= a and b ~= b) and path or nil end
  return not ok(a, b) and path or nil
end

local function compare(a, b, ok, what)
  local x, y = vals(a), vals(b)
  local p = walk(x, y, ok, "")
  if p then
    error(("%s at %s: got %s, want %s"):format(what, p == "" and "value" or p,
      show(x), show(y)), 3)
  end
end

--- eq(a, b): exact; nan equals nan, 0 equals -0.
function eq(a, b)
  compare(a, b, function(x, y) return x == y end, "eq")
end

--- same(a, b): and the sign of zero.
function same(a, b)
  compare(a, b, function(x, y) return x == y and 1 / x == 1 / y end, "same")
end

--- near(a, b, tol): relative above 1, absolute below.
function near(a, b, tol)
  tol = tol or 1e-5
  compare(a, b, function(x, y)
    return x == y or math.abs(x - y) <= tol * math.max(1, math.abs(y))
  end, "near")
end

--- rel(a, b, tol): relative only.
function rel(a, b, tol)
  compare(a, b, function(x, y)
    return x == y or math.abs(x - y) <= (tol or 1e-6) * math.abs(y)
  end, "rel")
end

function shape(x, want) eq(x.shape, want) end

function dtype(x, want)
  if tostring(x.dtype) ~= want then
    error("dtype " .. tostring(x.dtype) .. ", want " .. want, 2)
  end
end

function check(c, msg)
  if not c then error(msg or "check failed", 2) end
end

--- fails(f, pattern): f raises an error, whose text has the pattern.
function fails(f, pattern)
  local ok, e = pcall(f)
  if ok then
    error("no error raised" .. (e ~= nil and ": got " .. show(vals(e)) or ""),
      2)
  end
  if type(e) ~= "string" or e == "" then error("an error without text", 2) end
  if pattern and not e:find(pattern) then
    error(("the error does not say '%s': %s"):format(pattern, e), 2)
  end
end

--- maybe(f, test): an error, or a value that passes the test.
function maybe(f, test)
  local ok, v = pcall(f)
  if ok then test(v) end
end

local function same_bits(a, b)
  return a == b and 1 / a == 1 / b or (a ~= a and b ~= b)
end

--- lanes(n, f): f(k) gives k numbers that are all n, for many k.
function lanes(n, f, what)
  for _, k in ipairs { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1000 } do
    local v = vals(f(k))
    for i = 1, k do
      if not same_bits(number(v[i]), number(v[1])) then
        error(("%s: element %d of %d is %s, element 1 is %s"):format(
          what or "lanes", i, k, tostring(v[i]), tostring(v[1])), 2)
      end
    end
    if n ~= nil and not (number(v[1]) == n or (n ~= n and v[1] ~= v[1])) then
      error(("%s of %d: got %s, want %s"):format(what or "lanes", k,
        tostring(v[1]), tostring(n)), 2)
    end
  end
end

-- ---- running ---------------------------------------------------------------

local passed, failed, only = 0, 0, os.getenv("TEST_CASE")

--- case(id, title, f): one test; it fails when f raises an error.
function case(id, title, f)
  if only and only ~= id then return end
  local ok, e = xpcall(f, function(m)
    return type(m) == "string" and m or tostring(m)
  end)
  if ok then
    passed = passed + 1
  else
    failed = failed + 1
    print("FAIL " .. id .. " " .. title .. ": " .. e)
  end
end

--- done(): the closing line, and the exit status.
function done()
  print(("%d passed, %d failed"):format(passed, failed))
  if failed > 0 then os.exit(1) end
end

-- ---- short forms -----------------------------------------------------------

--- gradat(f, x): gradient of sum(f(x)) at the table x, f64.
function gradat(f, x, dt)
  return grad(function(t) return sum(f(t)) end)(tensor(x, dt or "f64"))
end

--- gradof(f, x): the same of an f that gives one number.
function gradof(f, x, dt)
  return grad(f)(tensor(x, dt or "f64"))
end
