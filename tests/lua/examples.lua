-- The examples of :doc are true: every public function has one, it runs, and
-- what stands behind --> is what it gives.
dofile((arg[0]:match("^.*/") or "") .. "_prelude.lua")
local core = require "tsh.core"

-- ---- what the examples speak of ------------------------------------------------

local folder = os.tmpname()
os.remove(folder)
require("tsh.core").make_folder(folder)

local function file(name, text)
  local path = folder .. "/" .. name
  local f = assert(io.open(path, "wb"))
  f:write(text)
  f:close()
  return path
end

local PATHS = {
  ["digits.csv"] = file("digits.csv", "1.5,2.5,1\n3.5,4.5,2\n"),
  ["train-images-idx3-ubyte.gz"] = file("images",
    string.pack(">I4I4I4I4", 0x803, 1, 2, 2) .. "\0\1\2\3"),
  ["m.safetensors"] = folder .. "/m.safetensors",
}

-- A new set of the names that examples use, so that none depends on another.
local function names()
  local n = setmetatable({ print = function() end }, { __index = _G })
  n.epoch = 1
  n.images, n.labels = rand(10, 4), randint(1, 3, 10)
  n.x, n.y = rand(8, 2), rand(8, 3)
  n.spec = nn.linear(2, 3)
  n.params = nn.init(n.spec, 1)
  n.grads = tree.map(function(p) return p * 0 + 1 end, n.params)
  n.opt = optim.sgd { lr = 0.1 }
  n.state = n.opt.init(n.params)
  n.loss_of = function(p, x, y) return mse(nn.forward(n.spec, p, x), y) end
  return n
end

-- ---- comparing -----------------------------------------------------------------

local function add_numbers(v, list)
  if type(v) == "userdata" then v = vals(v) end
  if type(v) == "table" then
    for i = 1, #v do add_numbers(v[i], list) end
  else
    list[#list + 1] = v
  end
end

-- "1 2 / 3 true" as a list; nil when it holds other words.
local function numbers_of(text)
  local list = {}
  for word in text:gmatch("%S+") do
    local v = word == "true" and 1 or word == "false" and 0 or tonumber(word)
    if not v and word ~= "/" then return nil end
    list[#list + 1] = v or nil
  end
  return list
end

local function squeeze_blanks(text) return (text:gsub("%s+", " ")) end

local function shown(values)
  local parts = {}
  for i = 1, values.n do
    local v = values[i]
    parts[i] = type(v) == "table" and getmetatable(v) == nil
      and "{" .. table.concat(v, ", ") .. "}" or tostring(v)
  end
  return squeeze_blanks(table.concat(parts, " "))
end

local function agrees(values, want)
  local numbers = numbers_of(want)
  if not numbers then
    local text = shown(values)
    return text:sub(1, #want) == squeeze_blanks(want), text
  end
  local got = {}
  for i = 1, values.n do add_numbers(values[i], got) end
  if #got ~= #numbers then return false, #got .. " numbers" end
  for i, w in ipairs(numbers) do
    local g = got[i] == true and 1 or got[i] == false and 0 or got[i]
    -- Five digits are written.
    if math.abs(g - w) > 2e-5 * math.max(1, math.abs(w)) then
      return false, tostring(g)
    end
  end
  return true
end

local TABLE = file("table.csv", "1,2\n3,4\n")

-- An example of the command line: it ends well.
local function run_command(text)
  local tsh_program = os.getenv("TSH")
  if not tsh_program then return end
  local line = text:gsub("^tsh", function() return tsh_program end)
    :gsub("table%.csv", function() return TABLE end)
  check(os.execute(line .. " >/dev/null"), line)
end

-- "code --> want", each part optional; code may print what is wanted.
local function run_example(text)
  if text:find("^tsh ") then return run_command(text) end
  local code, want = text:match("^(.-)%s*%-%->%s*(.-)%s*$")
  code = code or text
  for name, path in pairs(PATHS) do -- order-free
    code = code:gsub('"' .. name:gsub("%p", "%%%0") .. '"',
      function() return ("%q"):format(path) end)
  end
  local env, printed = names(), nil
  function env.print(...) printed = table.pack(...) end
  env.show = env.print
  local last = code:match("^(.*;)%s*") or ""
  local f = load(last .. " return " .. code:sub(#last + 1), "=example", "t", env)
    or load("return " .. code, "=example", "t", env)
    or assert(load(code, "=example", "t", env))
  local values = table.pack(f())
  if values.n == 0 and printed then values = printed end
  for i = 1, values.n do
    if type(values[i]) == "userdata" then tsh.wait(values[i]) end
  end
  if not want then return end
  local same, got = agrees(values, want)
  check(same, ("%s gives %s, not %s"):format(code, got, want))
end

-- ---- the examples ----------------------------------------------------------------

case("functions", "each function of C has a true example", function()
  local n, wrong = 0, {}
  for _, f in ipairs(core.functions()) do
    if not f.alias and f.name ~= "c64" then
      local ok, why = pcall(run_example, f.example or "error('no example')")
      if not ok then wrong[#wrong + 1] = f.name .. ": " .. tostring(why) end
      n = n + 1
    end
  end
  check(#wrong == 0, table.concat(wrong, "\n"))
  check(n > 120, n)
end)

-- The doc blocks of a file: the head and what stands behind Example.
local function each_block(path, visit)
  local block = {}
  for line in io.lines(path) do
    local text = line:match("^%-%-%- (.*)$")
    if text then
      block[#block + 1] = text
    elseif #block > 0 then
      visit(block[1], table.concat(block, "\n"):match("Example: (.*)$"))
      block = {}
    end
  end
end

case("library", "each function of the library has a true example", function()
  local n, wrong = 0, {}
  for path in io.popen("ls '" .. here .. "../../lang/lib/'*.lua"):lines() do
    each_block(path, function(head, example)
      local ok, why = pcall(run_example, example or "error('no example')")
      tsh.set("print.precision")
      if not ok then
        wrong[#wrong + 1] = ("%s: %s: %s"):format(path, head, why)
      end
      n = n + 1
    end)
  end
  check(#wrong == 0, table.concat(wrong, "\n"))
  check(n > 130, n)
end)

case("modules", "each module has an example that runs", function()
  local program, n = os.getenv("TSH"), 0
  for path in io.popen("ls '" .. here .. "../../lang/lib/'*.lua"):lines() do
    local name = path:match("([^/]+)%.lua$")
    local first = io.lines(path)()
    if first == "-- names: " .. name and type(_G[name]) == "table" then
      local found
      each_block(path, function(head, example)
        if head:find("^" .. name .. ": ") then found = example end
      end)
      check(found, name .. " has an example")
      run_example(found)
      n = n + 1
      if program then
        local text = io.popen(program .. " help " .. name):read("a")
        check(text:find("Example: ", 1, true), name)
        check(text:find("\n" .. name .. "%.%a"), name .. " lists functions")
      end
    end
  end
  eq(n, 5, "nn optim data schedule tree")
end)

os.execute("rm -rf '" .. folder .. "'")
done()
